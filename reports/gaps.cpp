#include "gaps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "text.h"

namespace assay {
namespace {

constexpr std::uint64_t kEnoughJudged = 100;
constexpr std::size_t kRowsShown = 20;
constexpr std::size_t kGapsShown = 6;  // of one row
constexpr std::size_t kReasonsShown = 3;

bool may_be(const Row& row, const std::string& reason) {
  return std::ranges::any_of(
      row.may_refuse, [&](const std::string& glob) { return fnmatch(glob.c_str(), reason.c_str(), 0) == 0; });
}

bool may_be(const Row& row, const std::set<std::string>& reasons) {
  return std::ranges::all_of(reasons, [&](const std::string& r) { return may_be(row, r); });
}

std::string reasons_text(const std::set<std::string>& reasons) {
  std::vector<std::string> all(reasons.begin(), reasons.end());
  const std::size_t more = all.size() > kReasonsShown ? all.size() - kReasonsShown : 0;
  all.resize(all.size() - more);
  return fmt::format("{}{}", fmt::join(all, "; "),
                     more > 0 ? fmt::format("; and {} more reasons", more) : "");
}

std::string name_of_row(const Row& row) { return fmt::format("{} {} {}", row.op, row.impl, row.dtype); }

}  // namespace

std::uint64_t least_judged(std::uint64_t asked) { return std::min(kEnoughJudged, (asked + 1) / 2); }

std::vector<std::string> gaps(const Row& row) {
  std::vector<std::string> all;
  if (row.asked == 0) return all;
  const bool accepted = !row.refused.empty() && std::ranges::all_of(row.refused, [&](const auto& refusal) {
    return may_be(row, refusal.first);
  });
  if (row.judged < least_judged(row.asked) && !accepted)
    all.push_back(fmt::format("judged {} of {}, which is fewer than {}", grouped(row.judged),
                              counted(row.asked, "case"), grouped(least_judged(row.asked))));
  if (row.judged == 0) return all;  // then every class was refused
  for (const auto& [name, count] : row.classes)
    if (count.ordinary && count.judged == 0 && count.refused > 0 && !may_be(row, count.reasons))
      all.push_back(fmt::format("every call of the class `{}` was refused ({}): {}", name,
                                counted(count.refused, "case"), reasons_text(count.reasons)));
  return all;
}

std::vector<std::string> never_called(const Row& row) {
  std::vector<std::string> all;
  for (const auto& [name, count] : row.classes)
    if (count.ordinary && count.judged == 0 && count.refused == 0) all.push_back(name);
  return all;
}

std::string gap_list(const RunResult& run, const Rules& rules, const Style& style) {
  std::string out;
  std::size_t rows = 0;
  for (const Row& row : run.rows) {
    if (!rules.decides(row)) continue;
    const std::vector<std::string> found = gaps(row);
    if (found.empty() || ++rows > kRowsShown) continue;
    out += paragraph(fmt::format("{}:", name_of_row(row)), "  ", "    ");
    for (std::size_t i = 0; i < std::min(found.size(), kGapsShown); ++i)
      out += paragraph(found[i], "    ", "      ");
    if (found.size() > kGapsShown)
      out += fmt::format("    and {} more, which --classes lists\n", found.size() - kGapsShown);
  }
  if (rows == 0) return {};
  if (rows > kRowsShown)
    out += fmt::format("  and {} more, which the run file lists\n", counted(rows - kRowsShown, "row"));
  const std::string title = paragraph(
      "Gaps: ordinary calls that were refused, so that nothing is known of them. --strict-coverage makes them "
      "failures, --may-refuse REASON accepts them.",
      "", "  ");
  return style.heading("Gaps") + title.substr(4) + out + "\n";
}

std::string class_table(const RunResult& run, const Rules& rules) {
  std::string out =
      "Classes of calls: cases judged, cases refused. * is a class of ordinary calls, those of networks.\n\n";
  for (const Row& row : run.rows) {
    if (!rules.decides(row) || row.classes.empty()) continue;
    out += fmt::format("{}: {} judged", name_of_row(row), counted(row.judged, "case"));
    if (row.instead > 0) out += fmt::format(", {} of them in place of refused ones", grouped(row.instead));
    out += "\n";
    for (const auto& [name, count] : row.classes)
      out += fmt::format("  {:>7}  {:>7}  {} {}{}\n", grouped(count.judged),
                         count.refused > 0 ? grouped(count.refused) : "", count.ordinary ? "*" : " ", name,
                         count.judged > 0    ? ""
                         : count.refused > 0 ? "  only refused: " + reasons_text(count.reasons)
                                             : "  never called");
    out += "\n";
  }
  return out;
}

}  // namespace assay
