#include "sanitizer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace assay {
namespace {

constexpr std::string_view kBegins = "WARNING: ThreadSanitizer: ";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string_view line_of(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

// "    #0 racy /src/p.c:9 (p.so+0x15fc)" -> "racy /src/p.c:9"; without a place in a source "racy (p.so+0x15fc)". Empty for the
// runtime's own.
std::string frame_of(std::string_view line) {
  line = trimmed(line);
  const std::size_t name = line.find(' ');
  if (!line.starts_with('#') || name == std::string_view::npos ||
      line.find("libtsan.so") != std::string_view::npos)
    return {};
  line = trimmed(line.substr(name));
  const std::size_t module = line.rfind(" (");
  if (const std::size_t unknown = line.find(" <null>"); unknown != std::string_view::npos)
    return fmt::format("{}{}", line.substr(0, unknown),
                       module == std::string_view::npos ? "" : line.substr(module));
  return std::string(trimmed(line.substr(0, module)));
}

// "Previous write of size 4 at 0x7f8c6d49304c by thread T1 (mutexes: write M0):" -> "previous write of size 4 by thread T1".
std::string access_of(std::string_view line) {
  std::string text(trimmed(line));
  text.pop_back();  // the colon
  if (const std::size_t mutexes = text.find(" (mutexes"); mutexes != std::string::npos) text.resize(mutexes);
  if (const std::size_t at = text.find(" at 0x"); at != std::string::npos)
    text.erase(at, std::min(text.find(' ', at + 4), text.size()) - at);
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

std::string sanitizer_report(std::string_view printed) {
  const std::size_t begin = printed.find(kBegins);
  if (begin == std::string_view::npos) return {};
  std::string_view rest = printed.substr(begin + kBegins.size());
  const std::string_view kind = line_of(rest);
  std::vector<std::string> places;
  std::string location;
  std::string access;  // whose stack has not been named yet
  while (!rest.empty()) {
    const std::string_view line = line_of(rest), words = trimmed(line);
    if (words.starts_with("=====") || words.starts_with("SUMMARY:")) break;
    if (words.starts_with("Location is ")) {
      location = fmt::format("; location is {}", words.substr(std::string_view("Location is ").size()));
      if (const std::size_t at = location.find(" at 0x"); at != std::string::npos) location.resize(at);
    } else if (places.size() < 2 && words.ends_with(':') && line.starts_with("  ") &&
               !line.starts_with("    ")) {
      access = access_of(line);
    } else if (std::string frame = frame_of(line); !access.empty() && !frame.empty()) {
      places.push_back(fmt::format("{} at {}", access, frame));
      access.clear();
    }
  }
  std::string text = fmt::format("{} (ThreadSanitizer)", trimmed(kind.substr(0, kind.find(" (pid="))));
  for (std::size_t i = 0; i < places.size(); ++i) text += (i == 0 ? ": " : ", ") + places[i];
  return text + location;
}

}  // namespace assay
