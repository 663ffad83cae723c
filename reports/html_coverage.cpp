// What a run did not look at: rows that were not run or refused, and what an older run had covered.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "coverage.h"
#include "gaps.h"
#include "html_page.h"
#include "html_text.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostLosses = 300;
constexpr std::size_t kMostReasons = 60;
constexpr std::size_t kFewLosses = 40;
constexpr std::size_t kFewReasons = 8;  // are shown without being asked for
constexpr std::size_t kMostNames = 12;

std::string names_html(const std::set<std::string>& names) {
  std::string s;
  std::size_t n = 0;
  for (const std::string& name : names) {
    if (n++ == kMostNames) return s + fmt::format(" and {} more", names.size() - kMostNames);
    s += (s.empty() ? "" : ", ") + html_text(shortened(name, 60));
  }
  return s;
}

// Rows that say the same of themselves.
struct Uncovered {
  std::uint64_t rows = 0;
  std::set<std::string> ops, impls, dtypes;
};

void add_uncovered(Page& page, const RunResult& run) {
  std::map<std::pair<Verdict, std::string>, Uncovered> groups;
  std::uint64_t rows = 0;
  for (const Row& row : run.rows) {
    if (row.verdict != Verdict::not_run && row.verdict != Verdict::refused) continue;
    Uncovered& u = groups[{row.verdict, reason_of(row)}];
    ++u.rows;
    ++rows;
    u.ops.insert(row.op);
    u.impls.insert(row.impl);
    u.dtypes.insert(row.dtype);
  }
  if (groups.empty()) return;
  std::vector<const std::pair<const std::pair<Verdict, std::string>, Uncovered>*> order;
  for (const auto& group : groups) order.push_back(&group);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.rows > b->second.rows; });
  page.topic("Not run and refused", counted(rows, "row"));
  page.body += fmt::format("<details{}><summary>{}</summary>\n", order.size() <= kFewReasons ? " open" : "",
                           counted(order.size(), "reason"));
  page.body +=
      "<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">why</th><th scope=\"col\" class=\"number\">rows</th><th scope=\"col\">kernels</th>"
      "<th scope=\"col\">dtypes</th><th scope=\"col\">operators</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(order.size(), kMostReasons); ++i) {
    const auto& [key, u] = *order[i];
    page.body += fmt::format(
        "<tr><td>{} {}{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        badge(key.first), words(key.first),
        key.second.empty() ? "" : ": " + html_text(shortened(without_words(key.first, key.second), 300)),
        grouped(u.rows), names_html(u.impls), names_html(u.dtypes), names_html(u.ops));
  }
  page.body += "</tbody></table></div>\n";
  if (order.size() > kMostReasons)
    page.body += fmt::format("<p class=\"note\">and {} more reasons, in the table of all rows</p>\n",
                             order.size() - kMostReasons);
  page.body += "</details>\n";
}

void add_lost(Page& page, const ReportedRun& run) {
  const ReportedRun& base = *page.report.base;
  const std::vector<CoverageLoss> lost = coverage_lost(base.run, run.run);
  page.topic("Coverage lost", fmt::format("{} since {}", counted(lost.size(), "row"), base.name));
  if (lost.empty()) {
    page.body += fmt::format("<p>None: each of its {} was looked at again, on as many cases.</p>\n",
                             counted(base.run.rows.size(), "row"));
    return;
  }
  std::map<CoverageLoss::Kind, std::uint64_t> kinds;
  for (const CoverageLoss& l : lost) ++kinds[l.kind];
  std::vector<std::string> parts;
  for (const auto& [kind, n] : kinds) parts.push_back(fmt::format("{} {}", grouped(n), words(kind)));
  page.body += fmt::format("<details{}><summary>{}</summary>\n", lost.size() <= kFewLosses ? " open" : "",
                           fmt::join(parts, ", "));
  page.body +=
      "<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">row</th><th scope=\"col\">what</th><th scope=\"col\" class=\"number\">cases then</th>"
      "<th scope=\"col\" class=\"number\">now</th><th scope=\"col\">why</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(lost.size(), kMostLosses); ++i) {
    const CoverageLoss& l = lost[i];
    page.body += fmt::format(
        "<tr><td>{} <span class=\"kernel\">{}</span> {}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
        html_text(l.op), html_text(l.impl), html_text(l.dtype), words(l.kind), grouped(l.before),
        grouped(l.now), html_text(shortened(l.reason, 300)));
  }
  page.body += "</tbody></table></div>\n";
  if (lost.size() > kMostLosses)
    page.body +=
        fmt::format("<p class=\"note\">and {} more</p>\n", counted(lost.size() - kMostLosses, "row"));
  page.body += "</details>\n";
}

}  // namespace

namespace {

std::string classes_html(const Row& row, bool refused) {
  std::string s;
  for (const auto& [name, count] : row.classes)
    if (refused ? count.judged == 0 && count.refused > 0 : count.judged == 0 && count.refused == 0)
      s += (s.empty() ? "" : ", ") + html_text(name);
  return s;
}

// Of each row that leaves out a class of calls: how many cases were judged and refused, and which classes none was of.
void add_gaps(Page& page, const RunResult& run) {
  std::string rows;
  std::size_t with_gaps = 0;
  for (const Row& row : run.rows) {
    const std::string refused = classes_html(row, true), never = classes_html(row, false);
    const std::vector<std::string> found = gaps(row);
    if (refused.empty() && never.empty() && found.empty()) continue;
    with_gaps += found.empty() ? 0 : 1;
    std::uint64_t turned_down = 0;
    for (const auto& [reason, n] : row.refused) turned_down += n;
    rows += fmt::format(
        "<tr><td>{} <span class=\"kernel\">{}</span> {}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_text(row.op), html_text(row.impl), html_text(row.dtype), grouped(row.judged),
        grouped(turned_down), html_text(fmt::format("{}", fmt::join(found, "; "))), refused, never);
  }
  if (rows.empty()) return;
  page.topic("Classes of calls that were not judged", counted(with_gaps, "row") + " with gaps");
  page.body += fmt::format(
      "<details{}><summary>judged cases, and classes of calls without any</summary>\n<div class=\"wide\"><table "
      "class=\"list\"><thead><tr><th scope=\"col\">row</th><th scope=\"col\" class=\"number\">judged</th>"
      "<th scope=\"col\" class=\"number\">refused</th><th scope=\"col\">gaps</th><th scope=\"col\">only refused</th>"
      "<th scope=\"col\">never called</th></tr></thead><tbody>\n{}</tbody></table></div>\n</details>\n",
      with_gaps > 0 ? " open" : "", rows);
}

}  // namespace

void add_coverage(Page& page, const ReportedRun& run) {
  if (page.report.base) add_lost(page, run);
  add_uncovered(page, run.run);
  add_gaps(page, run.run);
}

}  // namespace assay
