// Google Benchmark's JSON of rows that were timed, with what is ours under the key "assay" of each (docs/bench-file.md).
//
//   GoogleFile file;
//   file.add(bench.measure(group));
//   write_file("bench.json", file.json(context));
#pragma once

#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench.h"

namespace assay {

using GoogleRow = benchmark::BenchmarkReporter::Run;

// As Google Benchmark names it: "prelu/f32:self=2x3,weight=3/cpu.avx2/warm/threads:1".
std::string benchmark_name(const BenchRow& row);
// What stands beside a row's time: the numbers of docs/bench-file.md that are one number each.
benchmark::UserCounters google_counters(const BenchRow& row);
// Why it has no time, as Google Benchmark's writer can write it; empty for one that has.
std::string google_error(const BenchRow& row);
// Names it and puts in the times of the rounds; the rest stays as it is.
void put_times(const BenchRow& row, GoogleRow& google);

class GoogleFile {
 public:
  // `repetition` of so many: of --benchmark_repetitions.
  void add(const std::vector<BenchRow>& rows, int repetition = 0, int repetitions = 1);
  // The whole file so far; `context` stands under the context's key "assay".
  std::string json(const nlohmann::ordered_json& context) const;

 private:
  std::vector<GoogleRow> rows_;
  std::vector<nlohmann::ordered_json> ours_;
};

}  // namespace assay
