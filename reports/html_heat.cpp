// How much of the machine's limit each kernel reaches, and how libraries compare on the same case: tables of numbers with
// shades after them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "html_page.h"
#include "html_text.h"
#include "svg.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostHeatRows = 400;
constexpr std::size_t kMostGroups = 150;
constexpr std::size_t kMostHeatKernels = 24;
constexpr std::size_t kLongestHeatName = 60;

using HeatRow =
    std::tuple<std::string, std::string, std::string, std::uint64_t>;  // operator, dtype, place, threads
using HeatColumn = std::pair<bool, std::string>;                       // peers after ours

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::string state_text(const std::string& place, std::uint64_t threads) {
  return fmt::format("{}{}", place,
                     threads > 1 ? fmt::format("{}{} threads", place.empty() ? "" : ", ", threads) : "");
}

std::string library_of(const std::string& impl) { return impl.substr(0, impl.find('.')); }

// Kernels of one case under the same conditions.
struct Contest {
  std::vector<const BenchRow*> rows;
  const BenchRow* ours = nullptr;   // our fastest
  const BenchRow* other = nullptr;  // the fastest of other libraries
  std::map<std::string, const BenchRow*> by_library;

  void add(const BenchRow& row) {
    rows.push_back(&row);
    const auto faster = [&](const BenchRow*& best) {
      if (best == nullptr || row.ns.median < best->ns.median) best = &row;
    };
    faster(row.peer ? other : ours);
    faster(by_library[library_of(row.impl)]);
  }
  double ratio() const { return ours->ns.median / other->ns.median; }
};

}  // namespace

void add_heat_table(Page& page, const BenchmarkFile& file) {
  std::map<HeatRow, std::map<HeatColumn, std::vector<double>>> shares;
  std::set<HeatColumn> kernels;
  for (const BenchRow& row : file.rows) {
    if (!row.measured() || !row.limit || !std::isfinite(row.limit->share)) continue;
    kernels.insert({row.peer, row.impl});
    shares[{row.op, row.dtype, row.place(), row.threads}][{row.peer, row.impl}].push_back(100 *
                                                                                          row.limit->share);
  }
  if (shares.empty()) return;
  std::vector<HeatColumn> columns(kernels.begin(), kernels.end());
  columns.resize(std::min(columns.size(), kMostHeatKernels));
  page.topic(
      "Share of the limit",
      "percent of what the machine could do at most on the same bytes and operations; medians over cases");
  page.body += "<div class=\"wide\"><table class=\"heat\"><thead><tr><th scope=\"col\">operator</th>";
  for (const HeatColumn& c : columns)
    page.body += fmt::format("<th scope=\"col\">{}{}</th>", html_text(shortened(c.second, kLongestHeatName)),
                             c.first ? " <small>peer</small>" : "");
  page.body += "</tr></thead><tbody>\n";
  std::size_t drawn = 0;
  for (const auto& [key, cells] : shares) {
    if (drawn++ == kMostHeatRows) break;
    const auto& [op, dtype, place, threads] = key;
    const std::string state = state_text(place, threads);
    page.body += fmt::format("<tr><th scope=\"row\"><a href=\"#find-b:{}\">{}</a> {} <small>{}</small></th>",
                             fragment(op), html_text(shortened(op, kLongestHeatName)), html_text(dtype),
                             html_text(state));
    for (const HeatColumn& c : columns) {
      const auto found = cells.find(c);
      if (found == cells.end()) {
        page.body += "<td></td>";
        continue;
      }
      const double share = median(found->second);
      page.body += fmt::format("<td class=\"h{}\">{}%</td>",
                               std::clamp(static_cast<int>(std::min(share, 1000.0) / 10), 0, 9),
                               figure(share, share < 9.95 ? 1 : 0));
    }
    page.body += "</tr>\n";
  }
  page.body += "</tbody></table></div>\n";
  if (shares.size() > kMostHeatRows)
    page.body +=
        fmt::format("<p class=\"note\">and {} more</p>\n", counted(shares.size() - kMostHeatRows, "line"));
  if (kernels.size() > columns.size())
    page.body += fmt::format("<p class=\"note\">{} more are in the table of all measurements.</p>\n",
                             counted(kernels.size() - columns.size(), "kernel"));
}

void add_side_by_side(Page& page, const BenchmarkFile& file) {
  std::map<std::tuple<std::string, std::string, std::string, std::uint64_t>, Contest> all;
  for (const BenchRow& row : file.rows)
    if (row.measured()) all[{row.op, row.case_text, row.place(), row.threads}].add(row);
  std::vector<const Contest*> contests;
  std::set<std::pair<bool, std::string>> libraries;
  for (const auto& entry : all) {
    const Contest& c = entry.second;
    if (c.ours == nullptr || c.other == nullptr) continue;
    contests.push_back(&c);
    for (const auto& [library, row] : c.by_library) libraries.insert({row->peer, library});
  }
  if (contests.empty()) return;
  std::stable_sort(contests.begin(), contests.end(),
                   [](const Contest* a, const Contest* b) { return a->ratio() > b->ratio(); });
  page.topic("Side by side",
             "the fastest kernel of each library on the same case; where ours stand worst first");
  page.body += fmt::format(
      "<details{}><summary>{}</summary>\n<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">case</th>",
      contests.size() <= 40 ? " open" : "", counted(contests.size(), "case"));
  for (const auto& [peer, library] : libraries)
    page.body += fmt::format("<th scope=\"col\" class=\"number\">{}</th>",
                             html_text(shortened(library, kLongestHeatName)));
  page.body += "<th scope=\"col\" class=\"number\">ours / fastest other</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(contests.size(), kMostGroups); ++i) {
    const Contest& c = *contests[i];
    const double fastest = std::min(c.ours->ns.median, c.other->ns.median);
    const std::string state = state_text(c.ours->place(), c.ours->threads);
    page.body += fmt::format("<tr><td><a href=\"{}\"><code>{}</code></a> <small>{}</small></td>",
                             row_link(page, file, *c.ours), html_text(shortened(c.ours->case_text, 120)),
                             html_text(state));
    for (const auto& [peer, library] : libraries) {
      const auto found = c.by_library.find(library);
      if (found == c.by_library.end()) {
        page.body += "<td></td>";
        continue;
      }
      const BenchRow& row = *found->second;
      const bool first = row.ns.median == fastest;
      page.body += fmt::format(
          "<td class=\"number{}\">{}{} <small>{}</small></td>", first ? " fastest" : "", first ? "▸ " : "",
          time_text(row.ns.median),
          html_text(shortened(row.impl.size() > library.size() ? row.impl.substr(library.size()) : "", 20)));
    }
    page.body += fmt::format("<td class=\"number\">{}×</td></tr>\n", figure(c.ratio(), 2));
  }
  page.body += "</tbody></table></div>\n";
  if (contests.size() > kMostGroups)
    page.body +=
        fmt::format("<p class=\"note\">and {} more</p>\n", counted(contests.size() - kMostGroups, "case"));
  page.body += "</details>\n";
}

}  // namespace assay
