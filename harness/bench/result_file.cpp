#include "result_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reports/bench_file.h"
#include "reports/file.h"
#include "reports/journal.h"
#include "reports/json_reader.h"
#include "statistics.h"

namespace assay {
namespace {

// What is compared with another file's has to be a time.
void must_hold(const Estimate& e, const JsonReader& value, const char* median) {
  if (!(e.median > 0 && std::isfinite(e.median))) value.at(median).fail("expected a number above 0");
  if (!(e.low <= e.median && e.median <= e.high))
    value.fail(
        fmt::format("its {} {} does not lie from low to high, {} to {}", median, e.median, e.low, e.high));
}

BenchRow read_ours(const JsonReader& value) {
  BenchRow row = bench_row_of(value);
  if (row.status != BenchStatus::measured) return row;
  must_hold(row.ns, value.at("ns"), "median");
  if (row.best_peer) must_hold(row.best_peer->ratio, value.at("best_peer"), "ratio");
  return row;
}

double unit(const JsonReader& value) {
  const std::string name = value.text();
  if (name == "ns") return 1;
  if (name == "us") return 1e3;
  if (name == "ms") return 1e6;
  if (name == "s") return 1e9;
  value.fail(fmt::format("\"{}\" is no unit of time: ns, us, ms or s", name));
}

// Without a time.
BenchRow what_they_timed(const JsonReader& b) {
  BenchRow row;
  row.case_text = b.text_or("run_name", b.at("name").text());
  row.threads = static_cast<int>(std::min<std::uint64_t>(b.count_or("threads", 1), 1'000'000));
  return row;
}

// Of repetitions the median counts: rows that came of others are left out.
bool is_summary(const JsonReader& b) { return b.text_or("run_type", "iteration") == "aggregate"; }

void read_theirs(const JsonReader& b, std::vector<BenchRow>& timed, std::vector<BenchRow>& untimed) {
  BenchRow row = what_they_timed(b);
  const auto without_time = [&](BenchStatus status, std::string reason) {
    row.status = status;
    row.reason = std::move(reason);
    untimed.push_back(row);
  };
  if (const JsonReader::Optional error = b.find("error_occurred"); error && error->is_true()) {
    without_time(BenchStatus::failed, b.text_or("error_message", ""));
    return;
  }
  if (const JsonReader::Optional skipped = b.find("skipped"); skipped && skipped->is_true()) {
    without_time(BenchStatus::not_run, b.text_or("skip_message", ""));
    return;
  }
  // Parts of a name say by which clock a benchmark wants to be read.
  const std::string name = row.case_text + "/";
  const bool by_other_clock =
      name.find("/real_time/") != std::string::npos || name.find("/manual_time/") != std::string::npos;
  const char* const clock = by_other_clock ? "real_time" : "cpu_time";
  const JsonReader time = b.at(clock), time_unit = b.at("time_unit");
  const double ns = time.number() * unit(time_unit);
  if (!(ns > 0 && std::isfinite(ns))) {  // a clock that does not tick while so little is done, or nonsense
    without_time(BenchStatus::not_run,
                 fmt::format("its {} is {:g} {}", clock, time.number(), time_unit.text()));
    return;
  }
  row.status = BenchStatus::measured;
  row.ns = {ns, 0, HUGE_VAL};  // of one repetition
  timed.push_back(std::move(row));
}

// One row for each key, in the order of the first ones.
void keep_medians(std::vector<BenchRow>& rows) {
  std::map<std::string, std::vector<const BenchRow*>> by_key;
  for (const BenchRow& r : rows) by_key[r.key()].push_back(&r);
  if (by_key.size() == rows.size()) return;
  std::vector<BenchRow> kept;
  for (const BenchRow& r : rows) {
    std::vector<const BenchRow*>& same = by_key[r.key()];
    if (same.empty()) continue;
    const auto middle = same.begin() + static_cast<std::ptrdiff_t>(same.size() / 2);
    std::ranges::nth_element(same, middle, {}, [](const BenchRow* x) { return x->ns.median; });
    kept.push_back(**middle);
    same.clear();
  }
  rows = std::move(kept);
}

// Rows of Google Benchmark get the intervals that their repetitions allow.
void add_intervals(std::vector<BenchRow>& rows, const std::vector<BenchRow>& repetitions) {
  std::map<std::string, std::vector<double>> times;
  for (const BenchRow& r : repetitions) times[r.key()].push_back(r.ns.median);
  for (BenchRow& row : rows) {
    const auto found = times.find(row.key());
    if (found == times.end()) continue;
    const Estimate e = median_interval(found->second);
    row.ns.low = std::min(e.low, row.ns.median);
    row.ns.high = std::max(e.high, row.ns.median);
  }
}

// A benchmark of which one repetition fails has failed, once.
void leave_out_failed(ResultFile& file) {
  std::set<std::string> failed;
  std::erase_if(file.untimed, [&](const BenchRow& row) {
    return row.status == BenchStatus::failed && !failed.insert(row.key()).second;
  });
  std::erase_if(file.rows, [&](const BenchRow& row) { return failed.contains(row.key()); });
}

}  // namespace

ResultFile result_file_from(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name);
  const JsonReader root = document.root();
  const JsonReader context = root.at("context");
  ResultFile file;
  file.name = name;
  file.date = context.text_or("date", "");
  if (const JsonReader::Optional ours = context.find("assay"); ours && ours->is_object()) {
    const std::string format = ours->at("format").text();
    if (format != "assay.bench/1")
      ours->at("format").fail(fmt::format("it is {}, and this program reads assay.bench/1", format));
    file.machine = ours->at("machine").at("fingerprint").text();
    file.commit = ours->text_or("commit", "");
    if (const JsonReader::Optional complete = ours->find("complete"); complete && !complete->boolean())
      file.incomplete = ours->text_or("incomplete", "it does not say why");
  } else {
    file.machine = fmt::format("{}; {} processors", context.text_or("host_name", "unknown host"),
                               context.count_or("num_cpus", 0));
  }
  std::set<std::string> medians;
  std::vector<JsonReader> theirs;
  for (const JsonReader& b : root.at("benchmarks").items()) {
    if (const JsonReader::Optional ours = b.find("assay"); ours && ours->is_object()) {
      BenchRow row = read_ours(*ours);
      (row.status == BenchStatus::measured ? file.rows : file.untimed).push_back(std::move(row));
      continue;
    }
    if (!is_summary(b)) {
      theirs.push_back(b);
    } else if (b.text_or("aggregate_name", "") == "median") {
      const std::size_t before = file.rows.size();
      read_theirs(b, file.rows, file.untimed);
      if (file.rows.size() > before) medians.insert(file.rows.back().key());
    }
  }
  std::vector<BenchRow> repetitions;
  for (const JsonReader& b : theirs) read_theirs(b, repetitions, file.untimed);
  for (const BenchRow& row : repetitions)
    if (!medians.contains(row.key())) file.rows.push_back(row);
  leave_out_failed(file);
  keep_medians(file.rows);
  add_intervals(file.rows, repetitions);
  return file;
}

ResultFile read_result_file(const std::string& path) { return result_file_from(read_document(path), path); }

}  // namespace assay
