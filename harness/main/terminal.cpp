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

// Nobody could be told that this cannot be written: the terminal may have been closed, and what goes on still counts.
void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

bool use_colour() {
  const char* no = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (no == nullptr || *no == 0);
}

void complain(std::string_view message) { tell("assay: " + printable_lines(message) + "\n"); }

ProgressLine::ProgressLine()
    : terminal_(isatty(STDERR_FILENO) != 0), last_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(30s))) return;
  last_ = now;
  const std::string line = printable(text);  // with names from files
  if (terminal_) {
    tell(fmt::format("\r\x1b[K{}", first_columns(line, std::max<std::size_t>(columns(), 2) - 1)));
    shown_ = true;
  } else {
    tell(line + "\n");
  }
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (shown_) tell("\r\x1b[K");
  shown_ = false;
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  const auto whole = static_cast<long>(seconds + 0.5);
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace assay
