// What `assay bench` was asked for.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "../bench/bench.h"
#include "kept_run.h"

namespace assay {

struct BenchFlags {
  std::vector<std::string> patterns;
  std::vector<std::string> dtypes;
  std::vector<std::string> cases;
  std::string shapes;
  std::vector<std::string> plugins;
  std::vector<std::string> caches{"warm"};
  std::string json;
  std::string against;
  int study = 0;
  std::vector<double> slowed{0, 2, 3, 5};  // percent
  bool all = false;
  double dram_seconds = 0;  // with --against, of cases whose data comes from memory
  std::vector<std::string> google;  // words that are Google Benchmark's, "--benchmark_filter=relu"
  BenchOptions options;
  ResumeFlag resume;
};

class Stopwatch {
 public:
  explicit Stopwatch(double before = 0) : before_(before) {}
  double seconds() const {
    return before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  double before_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// What the kernels are of that it is asked for: a plugin's are those of the checkout that the command runs in, ours of the one that
// they were built from.
std::string commit_of(const BenchFlags& flags);
// Where it will be pinned; throws UsageError for processors and memory that there are not.
Placements placements_of(const BenchOptions& options);
// That, and what the system forbids.
void print_placements(const Placements& placements);

// What was timed of a case, or compared, as a journal keeps it; and back.
void keep_rows(Journal* journal, const std::string& key, double at, const std::vector<BenchRow>& rows,
               nlohmann::json more = nullptr);
std::vector<BenchRow> rows_of(const JournalEntry& entry);

// The whole of `assay bench` without --against; flags.options is complete. Returns the exit code.
int bench_beside(const BenchFlags& flags, KeptRun& kept);

// The whole of `assay bench --against`; flags.options is complete. Returns the exit code.
int bench_against(const BenchFlags& flags, KeptRun& kept);

class Gate;
// What --study asks of it. Returns the exit code.
int bench_study(Gate& gate, const BenchFlags& flags);

}  // namespace assay
