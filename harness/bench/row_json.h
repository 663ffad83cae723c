// Rows of benchmarks as they stand in files, under the key "assay" of each of Google Benchmark's (docs/bench-file.md lists the keys).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench.h"

namespace assay {

// As Google Benchmark names it: "prelu/f32:self=2x3,weight=3/cpu.avx2/warm/threads:1".
std::string benchmark_name(const BenchRow& row);

nlohmann::ordered_json row_json(const BenchRow& row);
// The row of what row_json() made; throws nlohmann::json::exception for anything else.
BenchRow row_of(const nlohmann::json& j);

}  // namespace assay
