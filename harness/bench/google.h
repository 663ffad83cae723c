// Google Benchmark around the timing of whole groups: names, filters, its JSON.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench.h"

namespace assay {

// One row as Google Benchmark names it: "prelu/f32:self=2x3,weight=3/cpu.avx2/warm/threads:1". The last number counts rows that
// would have the same name.
std::string benchmark_name(const BenchRow& row);

// Rows as Google Benchmark's JSON, each with our own numbers as counters, and under the key "assay" with everything that is
// known of it; `context` stands under the context's key "assay". docs/bench-file.md lists the keys.
class GoogleRun {
 public:
  GoogleRun();
  ~GoogleRun();
  // Has Google Benchmark run one benchmark for each row: the times are those that were measured.
  void add(const std::vector<BenchRow>& rows);
  // The whole file so far.
  std::string json(const nlohmann::ordered_json& context) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A row's part under "assay", and the row of such a part.
nlohmann::ordered_json row_json(const BenchRow& row);
BenchRow row_of(const nlohmann::json& j);

}  // namespace assay
