// What was measured of kernels' speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "html_page.h"
#include "html_table.h"
#include "html_text.h"
#include "text.h"

namespace assay {
namespace {

// A regression first, then what the gate could not decide, then the slowest against its peers.
int urgency(const BenchmarkFile& file, const BenchRow& row) {
  const SpeedVerdict verdict = row.gate ? shown_verdict(file, *row.gate) : SpeedVerdict::same;
  if (verdict == SpeedVerdict::regressed) return 0;
  if (row.has_failed()) return 1;
  if (verdict == SpeedVerdict::ambiguous) return 2;
  if (verdict == SpeedVerdict::improved) return 3;
  return row.measured() ? 4 : 5;
}

struct PlacedBench {
  const BenchmarkFile* file;
  const BenchRow* row;
};

// Of a row, in the table: what the gate says, or whether it was measured.
enum BenchState {
  kRegressed,
  kFailed,
  kUndecided,
  kImproved,
  kSame,
  kUnchanged,
  kMeasured,
  kRefused,
  kNotRun
};

BenchState state_of(const BenchmarkFile& file, const BenchRow& row) {
  if (row.unchanged()) return kUnchanged;
  if (row.has_failed()) return kFailed;
  if (row.status == BenchStatus::refused) return kRefused;
  if (row.status == BenchStatus::not_run) return kNotRun;
  if (!row.gate) return kMeasured;
  switch (shown_verdict(file, *row.gate)) {
    case SpeedVerdict::regressed:
      return kRegressed;
    case SpeedVerdict::improved:
      return kImproved;
    case SpeedVerdict::ambiguous:
      return kUndecided;
    case SpeedVerdict::same:
      return kSame;
    default:
      return kUnchanged;
  }
}

const std::vector<ScriptTable::State> kBenchStates{
    {"regressed", "R", "bad"}, {"failed", "F", "bad"},   {"undecided", "?", "doubtful"},
    {"improved", "I", "good"}, {"same", "=", "good"},    {"unchanged code", "·", "none"},
    {"measured", "✓", "good"}, {"refused", "–", "none"}, {"not run", "·", "none"}};

void add_bench_rows(Page& page) {
  std::vector<PlacedBench> rows;
  bool gated = false, histories = false, peers = false;
  for (const BenchmarkFile& file : page.report.benches)
    for (const BenchRow& row : file.rows) {
      rows.push_back({&file, &row});
      gated = gated || row.gate.has_value();
      peers = peers || row.best_peer.has_value();
      histories = histories || page.histories.contains(&row);
    }
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const PlacedBench& a, const PlacedBench& b) {
    return urgency(*a.file, *a.row) < urgency(*b.file, *b.row);
  });

  std::vector<TableColumn> columns{
      {"op", "operator", "text", 18},     {"case", "case", "text", 30},
      {"impl", "kernel", "text", 20},     {"cache", "cache", "text", 8},
      {"threads", "threads", "count", 9}, {"state", gated ? "gate" : "status", "state", 14}};
  if (gated) columns.push_back({"gate_ratio", "/ base", "ratio", 9});
  columns.insert(
      columns.end(),
      {{"ns", "time", "time", 9}, {"share", "% of limit", "percent", 11}, {"binds", "bound by", "text", 15}});
  if (peers) columns.push_back({"peer_ratio", "/ best peer", "ratio", 12});
  if (histories) columns.push_back({"history", "history", "drawn", 16});
  for (const auto& [key, title, kind] : {std::tuple{"low", "time from, in 99% intervals", "time"},
                                         {"high", "time to", "time"},
                                         {"peer_name", "best peer", "text"},
                                         {"note", "why", "text"},
                                         {"shape", "why this shape", "text"},
                                         {"code", "code that ran", "text"},
                                         {"dtype", "dtype", "text"}})
    columns.push_back({key, title, kind, 0});
  std::vector<std::string> keys{"op", "case", "impl", "cache", "threads"};
  if (page.many_benches()) {
    columns.push_back({"file", "file", "text", 20});
    keys.insert(keys.begin(), "file");
  }
  ScriptTable table("b", "measurement", columns, page.limits.string_bytes);
  const auto if_positive = [&](const char* key, double value, int digits) {
    if (value > 0 && std::isfinite(value))
      table.number(key, value, digits);
    else
      table.none(key);
  };
  for (const PlacedBench& placed : rows) {
    const BenchRow& row = *placed.row;
    if (page.many_benches()) table.name("file", placed.file->name);
    table.name("op", row.op);
    table.name("case", row.case_text);
    table.name("impl", row.impl);
    table.name("cache", row.place());
    table.name("dtype", row.dtype);
    table.count("threads", row.threads);
    table.count("state", static_cast<std::uint64_t>(state_of(*placed.file, row)));
    if_positive("ns", row.ns.median, 4);
    if_positive("low", row.ns.low, 3);
    if_positive("high", row.ns.high, 3);
    if_positive("share", row.limit ? 100 * row.limit->share : 0, 3);
    if (peers) if_positive("peer_ratio", row.best_peer ? row.best_peer->ratio.median : 0, 3);
    if (gated) if_positive("gate_ratio", row.gate ? row.gate->ratio.median : 0, 4);
    table.text("binds", row.limit ? row.limit->binds : "");
    table.text("peer_name", row.best_peer ? row.best_peer->impl : "");
    table.count("peer", row.peer ? 1 : 0);
    const auto history = page.histories.find(&row);
    if (histories) table.count("history", history == page.histories.end() ? 0 : history->second);
  }
  for (const PlacedBench& placed : rows) table.text("note", placed.row->reason);
  for (const PlacedBench& placed : rows) table.text("shape", placed.row->shape);
  for (const PlacedBench& placed : rows) table.text("code", placed.row->information);
  page.body += "<section>\n";
  page.section("measurements", "All measurements", counted(rows.size(), "row"));
  page.body +=
      "<noscript><p class=\"note\">With JavaScript, all measurements stand here, to be sorted and filtered.</p></noscript>\n";
  std::map<std::string, std::string> parts;
  if (histories) parts["history"] = "history-";
  page.body += table.html(keys, "state", kBenchStates, parts,
                          histories ? ScriptTable::Drawn{"history", "history-"} : ScriptTable::Drawn{});
  page.body += "</section>\n";
}

}  // namespace

void add_performance(Page& page) {
  std::size_t number = 0;
  for (const BenchmarkFile& file : page.report.benches) {
    ++number;
    page.section(page.many_benches() ? fmt::format("performance-{}", number) : "performance", "Performance",
                 page.many_benches() ? file.name : "");
    add_speed(page, file);
  }
  add_bench_rows(page);
}

}  // namespace assay
