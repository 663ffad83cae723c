#include "printed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

#include "reports/text.h"

namespace assay {
namespace {

constexpr std::size_t kMostNames = 4;

std::string mark_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return printable(names[0]);
  const std::size_t n = std::min(names.size(), kMostNames);
  return fmt::format("one of {}{}", printable(fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(n), ", "))),
                     names.size() > n ? " .." : "");
}

}  // namespace

std::string marked(const std::vector<std::string>& names, std::string_view text, std::size_t& shown) {
  if (shown > kMostPrinted || text.empty() || names.empty()) return {};
  const std::string mark = mark_of(names);
  std::string lines;
  const std::size_t left = kMostPrinted - shown;
  const bool is_long = text.size() > left;
  for (std::string_view rest = text.substr(0, left); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines += fmt::format("[{}] {}\n", mark, printable(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  shown += std::min(left, text.size());
  if (is_long) {
    lines += fmt::format("[{}] (it prints more, which is not shown)\n", mark);
    shown = kMostPrinted + 1;
  }
  return lines;
}

void show_printed(const std::vector<std::string>& names, std::string_view text) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::size_t> shown;
  const std::scoped_lock lock(mutex);
  std::fputs(marked(names, text, shown[names]).c_str(), stderr);
}

}  // namespace assay
