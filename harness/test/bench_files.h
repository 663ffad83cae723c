// Benchmark files of Assay as JSON, for tests.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../bench/result_file.h"
#include "reports/file.h"

namespace assay::bench_files {

// What a FileError says.
inline std::string file_error(const std::function<void()>& f) {
  try {
    f();
  } catch (const FileError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// A row of relu, with its time in nanoseconds and that over PyTorch's.
inline nlohmann::json row(const std::string& impl, double ns, double ratio) {
  return {{"name", impl},
          {"assay",
           {{"op", "relu"},
            {"case", "relu:f32:self=3"},
            {"impl", impl},
            {"peer", false},
            {"cache", "warm"},
            {"threads", 1},
            {"status", "measured"},
            {"ns", {{"median", ns}, {"low", 0.98 * ns}, {"high", 1.02 * ns}}},
            {"limit", {{"ns", 1}, {"binds", "memory L1"}, {"share", 0.5}}},
            {"best_peer",
             {{"impl", "torch"}, {"ratio", ratio}, {"low", 0.99 * ratio}, {"high", 1.01 * ratio}}}}}};
}

inline nlohmann::json file_of(std::vector<nlohmann::json> rows, const std::string& machine = "m",
                              const std::string& date = "2026-01-02T03:04:05") {
  return {
      {"context",
       {{"date", date}, {"assay", {{"format", "assay.bench/1"}, {"machine", {{"fingerprint", machine}}}}}}},
      {"benchmarks", std::move(rows)}};
}

inline ResultFile read(const nlohmann::json& file) { return result_file_from(file.dump(), "x.json"); }

}  // namespace assay::bench_files
