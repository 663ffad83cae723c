// What one benchmark file says: what the gate found, how kernels stand against other libraries and against the machine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "html_page.h"
#include "html_text.h"
#include "summary.h"
#include "svg_forest.h"
#include "svg_roofline.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostForestRows = 40;
constexpr std::size_t kMostAlike =
    10;  // rows that the gate calls the same, in front of which there are others

std::string_view look_of(SpeedVerdict v) {
  switch (v) {
    case SpeedVerdict::regressed:
      return "bad";
    case SpeedVerdict::ambiguous:
      return "doubtful";
    case SpeedVerdict::improved:
      return "good";
    default:
      return "none";
  }
}

std::string_view gate_word(SpeedVerdict v) {
  static constexpr std::array<std::string_view, kGateTokens.size()> kWords{
      "unchanged code", "same", "improved", "undecided", "regressed"};
  return kWords[static_cast<std::size_t>(v)];
}

std::string facts(const BenchmarkFile& file) {
  std::array<std::uint64_t, kBenchStatuses.size()> statuses{};
  double contention = 0;
  for (const BenchRow& row : file.rows) {
    statuses[static_cast<std::size_t>(row.status)] += row.unchanged() ? 0 : 1;  // those stand beside the gate
    contention = std::max(contention, row.contention);
  }
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < statuses.size(); ++i)
    if (statuses[i] > 0)
      counts.push_back(fmt::format("{} {}", grouped(statuses[i]),
                                   kBenchStatuses[i] == "not_run" ? "not run" : kBenchStatuses[i]));
  std::string s = fmt::format("<dl class=\"about\"><dt>Kernel calls</dt><dd>{} in {}, seed {}</dd>\n",
                              counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", ")),
                              duration(file.seconds), file.seed);
  if (!file.commit.empty()) s += "<dt>Commit</dt><dd><code>" + html_text(file.commit) + "</code></dd>\n";
  if (contention > 0)
    s += fmt::format(
        "<dt>Contention</dt><dd>at most {:.2f} times as long by the clock on the wall as on the processor</dd>\n",
        contention);
  if (file.gate) {
    const GateSetting& g = *file.gate;
    std::vector<std::string> verdicts;
    const auto gate = gate_counts(file);
    for (std::size_t v = gate.size(); v-- > 0;)
      if (gate[v] > 0)
        verdicts.push_back(fmt::format("{} {}", grouped(gate[v]), gate_word(static_cast<SpeedVerdict>(v))));
    s +=
        fmt::format("<dt>Gate</dt><dd>{}</dd>\n",
                    verdicts.empty() ? "nothing was compared" : fmt::format("{}", fmt::join(verdicts, ", ")));
    if (!g.base.empty() || !g.candidate.empty())
      s += fmt::format("<dt>Compared</dt><dd><code>{}</code> with the base <code>{}</code></dd>\n",
                       html_text(g.candidate), html_text(g.base));
    if (g.canary_trials > 0)
      s += fmt::format("<dt>Canary</dt><dd>kernels compared with themselves: {} in {}</dd>\n",
                       counted(g.canary_alarms, "false alarm"), counted(g.canary_trials, "trial"));
    if (!g.fit) s += "<dt>Machine</dt><dd><b>not quiet enough to compare speeds on it</b></dd>\n";
  }
  return s + "</dl>\n";
}

// Ours first.
void add_failed_calls(Page& page, const BenchmarkFile& file) {
  constexpr std::size_t kMostFailed = 200;
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : file.rows)
    if (row.has_failed()) rows.push_back(&row);
  if (rows.empty()) return;
  std::stable_partition(rows.begin(), rows.end(), [](const BenchRow* row) { return row->fails(); });
  page.topic("Failed", "wrong results, a crash, no return, or a time that is impossible: such a kernel has no time");
  page.body +=
      "<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">kernel and case</th>"
      "<th scope=\"col\">why</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kMostFailed); ++i)
    page.body +=
        fmt::format("<tr{}><td><a href=\"{}\">{} {}</a>{}</td><td>{}</td></tr>\n",
                    rows[i]->peer ? "" : " class=\"bad\"", row_link(page, file, *rows[i]),
                    html_text(rows[i]->op), html_text(shortened(measured_name(*rows[i]), 120)),
                    rows[i]->peer ? " <small>peer</small>" : "", html_text(shortened(rows[i]->reason, 300)));
  page.body += "</tbody></table></div>\n";
  if (rows.size() > kMostFailed)
    page.body +=
        fmt::format("<p class=\"note\">and {} more</p>\n", counted(rows.size() - kMostFailed, "kernel call"));
}

// The farthest from 1 first; those that say something before those that do not.
void add_gate(Page& page, const BenchmarkFile& file) {
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : file.rows)
    if (row.gate && row.gate->verdict != SpeedVerdict::unchanged) rows.push_back(&row);
  if (rows.empty()) return;
  const auto weight = [&](const BenchRow* row) {
    const GateOutcome& g = *row->gate;
    const SpeedVerdict verdict = shown_verdict(file, g);
    const int rank = verdict == SpeedVerdict::regressed   ? 0
                     : verdict == SpeedVerdict::ambiguous ? 1
                     : verdict == SpeedVerdict::improved  ? 2
                                                          : 3;
    const double ratio = g.ratio.median > 0 && std::isfinite(g.ratio.median) ? g.ratio.median : 1;
    return std::pair(rank, -std::abs(std::log(ratio)));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const BenchRow* a, const BenchRow* b) { return weight(a) < weight(b); });
  std::vector<ForestRow> forest;
  double threshold = 0;
  std::size_t alike = 0;
  for (const BenchRow* at : rows) {
    const BenchRow& row = *at;
    if (forest.size() == kMostForestRows ||
        (shown_verdict(file, *row.gate) == SpeedVerdict::same && alike++ == kMostAlike))
      break;
    const SpeedVerdict verdict = shown_verdict(file, *row.gate);
    threshold = std::max(threshold, row.gate->threshold);
    forest.push_back({row.op + "  " + measured_name(row), row_link(page, file, row), row.gate->ratio,
                      std::string(look_of(verdict)),
                      std::string(gate_word(verdict)) +
                          (verdict == SpeedVerdict::regressed && row.gate->confirmed ? ", confirmed" : "")});
  }
  page.topic("Against the base",
             "ratios of times with their intervals; the shaded band is the change that counts");
  page.figure("time-over-base", forest_chart(forest, "time / time of the base", threshold));
  if (rows.size() > forest.size())
    page.body +=
        fmt::format("<p class=\"note\">{} more, nearer to 1, are in the table of all measurements.</p>\n",
                    counted(rows.size() - forest.size(), "row"));
}

void add_best_peers(Page& page, const BenchmarkFile& file) {
  // Of ours, the fastest on each case.
  std::map<std::tuple<std::string, std::string, std::string, std::uint64_t>, const BenchRow*> fastest;
  for (const BenchRow& row : file.rows) {
    if (!row.best_peer || row.peer || !row.measured() || !(row.best_peer->ratio.median > 0)) continue;
    const BenchRow*& best = fastest[{row.op, row.case_text, row.place(), row.threads}];
    if (best == nullptr || row.ns.median < best->ns.median) best = &row;
  }
  std::vector<const BenchRow*> rows;
  for (const auto& entry : fastest) rows.push_back(entry.second);
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const BenchRow* a, const BenchRow* b) {
    return a->best_peer->ratio.median > b->best_peer->ratio.median;
  });
  std::vector<ForestRow> forest;
  std::uint64_t slower = 0, faster = 0;
  for (const BenchRow* row : rows) {
    const Estimate& r = row->best_peer->ratio;
    slower += r.low > 1 ? 1 : 0;
    faster += r.high < 1 ? 1 : 0;
    if (forest.size() < kMostForestRows)
      forest.push_back({row->op + "  " + measured_name(*row), row_link(page, file, *row), r,
                        r.low > 1    ? "doubtful"
                        : r.high < 1 ? "good"
                                     : "none",
                        row->best_peer->impl});
  }
  page.topic(
      "Against the fastest other library",
      fmt::format(
          "our fastest kernel on each case: {} faster, {} slower, {} not told apart by intervals of 99%",
          grouped(faster), grouped(slower), grouped(rows.size() - faster - slower)));
  page.figure("time-over-peer", forest_chart(forest, "time / time of the fastest other library", 0));
  if (rows.size() > forest.size())
    page.body += fmt::format(
        "<p class=\"note\">These {} stand worst. {} more are in the table of all measurements.</p>\n",
        forest.size(), counted(rows.size() - forest.size(), "row"));
}

}  // namespace

std::string measured_name(const BenchRow& row) {
  const std::string prefix = row.op + ":";
  return fmt::format("{} {}{}{}", row.impl,
                     row.case_text.starts_with(prefix) ? row.case_text.substr(prefix.size()) : row.case_text,
                     row.cache.empty() || row.cache == "warm" ? "" : ", " + row.cache,
                     row.threads > 1 ? fmt::format(", {} threads", row.threads) : "");
}

void add_speed(Page& page, const BenchmarkFile& file) {
  page.body += facts(file);
  add_failed_calls(page, file);
  add_gate(page, file);
  add_best_peers(page, file);
  if (const std::string chart = roofline_chart(file); !chart.empty()) {
    page.topic("Against the machine",
               "roofline: each dot is a kernel on a case; the lines are what was measured as possible");
    page.figure("roofline", chart);
  }
  add_heat_table(page, file);
  add_side_by_side(page, file);
  add_histories(page, file);
}

}  // namespace assay
