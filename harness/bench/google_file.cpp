#include "google_file.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "reports/text.h"

namespace assay {

using OrderedJson = nlohmann::ordered_json;

std::string benchmark_name(const BenchRow& row) {
  return printable(fmt::format("{}/{}/{}/{}/threads:{}", row.op,
                               row.case_text.substr(row.case_text.find(':') + 1), row.impl, row.cache,
                               row.threads));
}

benchmark::UserCounters google_counters(const BenchRow& row) {
  benchmark::UserCounters counters;
  counters["rounds"] = static_cast<double>(row.rounds);
  if (std::isfinite(row.ns.low) && std::isfinite(row.ns.high)) {  // JSON has no infinities
    counters["low_ns"] = row.ns.low;
    counters["high_ns"] = row.ns.high;
  }
  counters["contention"] = row.contention;
  counters["bytes"] = static_cast<double>(row.bytes);
  counters["operations"] = static_cast<double>(row.operations + row.functions);
  if (row.limit) counters["share_of_limit"] = row.limit->share;
  if (row.gate) counters["time_over_baseline"] = row.gate->ratio.median;
  if (row.best_peer) counters["time_over_best_peer"] = row.best_peer->ratio.median;
  return counters;
}

std::string google_error(const BenchRow& row) {
  if (row.status == BenchStatus::measured) return {};
  // Its writer leaves control characters as they are, which JSON does not allow.
  return printable(fmt::format("{}: {}", token(row.status), row.reason));
}

void put_times(const BenchRow& row, GoogleRow& google) {
  google.run_name = {};
  google.run_name.function_name = benchmark_name(row);
  google.threads = row.threads;
  google.iterations = static_cast<benchmark::IterationCount>(row.calls);
  const double seconds = row.ns.median * 1e-9 * static_cast<double>(row.calls);
  google.real_accumulated_time = row.by_wall() ? seconds : seconds * row.contention;
  google.cpu_accumulated_time = row.by_wall() ? seconds / row.contention : seconds;
}

void GoogleFile::add(const std::vector<BenchRow>& rows, int repetition, int repetitions) {
  for (const BenchRow& row : rows) {
    GoogleRow google;
    google.family_index = static_cast<std::int64_t>(rows_.size());
    google.per_family_instance_index = 0;
    google.repetition_index = repetition;
    google.repetitions = repetitions;
    google.time_unit = benchmark::kNanosecond;
    google.statistics = nullptr;
    google.error_message = google_error(row);
    google.error_occurred = !google.error_message.empty();
    put_times(row, google);
    if (!google.error_occurred) {
      google.counters = google_counters(row);
      google.report_label = printable(row.information);
    }
    rows_.push_back(std::move(google));
    OrderedJson& ours = ours_.emplace_back(bench_row_json(row));
    if (repetitions > 1) ours["repetition"] = repetition;
  }
}

std::string GoogleFile::json(const OrderedJson& context) const {
  std::ostringstream text, ignored;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.SetErrorStream(&ignored);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  if (!rows_.empty()) reporter.ReportRuns(rows_);
  reporter.Finalize();
  OrderedJson file = OrderedJson::parse(text.str());
  file["context"]["assay"] = context;
  OrderedJson& list = file["benchmarks"];
  for (std::size_t i = 0; i < list.size() && i < ours_.size(); ++i) list[i]["assay"] = ours_[i];
  return file.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace assay
