// What a run did not look at: rows that were not run or refused, and what an older run had covered.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "coverage.h"
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

void add_coverage(Page& page, const ReportedRun& run) {
  if (page.report.base) add_lost(page, run);
  add_uncovered(page, run.run);
}

}  // namespace assay
