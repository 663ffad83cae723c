#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "reports/text.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

bool use_colour() {
  const char* no = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (no == nullptr || *no == 0);
}

void complain(std::string_view message) {
  const std::string line = "assay: " + printable_lines(message) + "\n";
  std::fputs(line.c_str(), stderr);  // nobody could be told that this cannot be written
}

ProgressLine::ProgressLine()
    : terminal_(isatty(STDERR_FILENO) != 0), last_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(30s))) return;
  last_ = now;
  const std::string line = printable(text);  // with names from files
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", first_columns(line, std::max<std::size_t>(columns(), 2) - 1));
    shown_ = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  const auto whole = static_cast<long>(seconds + 0.5);
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace assay
