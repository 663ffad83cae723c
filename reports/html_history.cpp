// How speeds went from commit to commit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "html_page.h"
#include "html_text.h"
#include "svg_sparkline.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostSeries = 400;

using SeriesKey = std::tuple<std::string, std::string, std::string, std::string, std::uint64_t>;

struct Course {
  const HistorySeries* series;
  const BenchRow* row;
};

// Those that changed for the worse most, or most recently, first.
bool more_to_say(const Course& a, const Course& b) {
  const auto last = [](const Course& c) {
    return c.series->changes.empty() ? 0.0 : c.series->changes.back().after / c.series->changes.back().before;
  };
  return last(a) > last(b);
}

std::string changes_html(const HistorySeries& series) {
  std::string s;
  for (const HistoryChange& c : series.changes) {
    const HistoryPoint& at = series.points[c.index];
    s += fmt::format("{}{:.3g} → {:.3g}{}", s.empty() ? "" : "; ", c.before, c.after,
                     at.commit.empty() ? "" : " at <code>" + html_text(shortened(at.commit, 12)) + "</code>");
  }
  return s.empty() ? "no change" : s;
}

}  // namespace

void add_histories(Page& page, const BenchmarkFile& file) {
  if (!page.report.history) return;
  std::map<SeriesKey, const HistorySeries*> by_key;
  for (const HistorySeries& s : page.report.history->series)
    if (s.machine.empty() || file.fingerprint.empty() || s.machine == file.fingerprint)
      by_key[{s.op, s.case_text, s.impl, s.cache, s.threads}] = &s;
  std::vector<Course> courses;
  for (const BenchRow& row : file.rows) {
    const auto found = by_key.find({row.op, row.case_text, row.impl, row.place(), row.threads});
    if (found != by_key.end() && !found->second->points.empty()) courses.push_back({found->second, &row});
  }
  if (courses.empty()) {
    page.body +=
        "<p class=\"note\">The history has no series of these kernels, cases and this machine.</p>\n";
    return;
  }
  std::stable_sort(courses.begin(), courses.end(), more_to_say);
  std::uint64_t changed = 0;
  for (const Course& c : courses) changed += c.series->changes.empty() ? 0 : 1;
  page.topic("History", fmt::format("{}, {} with a change; a line stands where the level changed",
                                    counted(courses.size(), "course"), grouped(changed)));
  page.body += fmt::format(
      "<details{}><summary>{}</summary>\n<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">kernel and case</th><th scope=\"col\">course</th><th scope=\"col\" class=\"number\">now</th>"
      "<th scope=\"col\">changes</th></tr></thead><tbody>\n",
      courses.size() <= 30 ? " open" : "", counted(courses.size(), "course"));
  for (std::size_t i = 0; i < std::min(courses.size(), kMostSeries); ++i) {
    const Course& c = courses[i];
    const std::size_t number = page.histories.size() + 1;
    page.histories[c.row] = number;
    const double now = c.series->points.back().ratio;
    page.body += fmt::format(
        "<tr id=\"history-{}\"><td><a href=\"{}\">{} {}</a></td><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
        number, row_link(page, file, *c.row), html_text(c.row->op),
        html_text(shortened(measured_name(*c.row), 120)), sparkline(*c.series),
        std::isfinite(now) ? fmt::format("{:.3f}", now) : "", changes_html(*c.series));
  }
  page.body += "</tbody></table></div>\n";
  if (courses.size() > kMostSeries)
    page.body +=
        fmt::format("<p class=\"note\">and {} more</p>\n", counted(courses.size() - kMostSeries, "course"));
  page.body += "</details>\n";
}

}  // namespace assay
