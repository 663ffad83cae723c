// The gate: cases of every operator on every kernel, judged, shrunk and recorded.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../generate/errors.h"
#include "../registry/registry.h"
#include "../registry/select.h"
#include "../run/lane.h"
#include "reports/result.h"
#include "vocabulary/case.h"

namespace assay {

class Journal;  // reports/journal.h

// Cases that are handed to a lane together; in a short run kRound.
inline constexpr std::uint64_t kCasesAtOnce = 2 * kCasesForAnError;

struct VerifyOptions {
  std::vector<std::string> patterns;  // shell globs on operator names; empty: all
  std::vector<std::string> impls;     // shell globs on kernel names; empty: all
  std::vector<Dtype> dtypes;          // empty: all
  std::vector<Case> listed;           // these cases instead of generated ones
  std::uint64_t cases = 250;          // for each operator and dtype
  std::uint64_t seed = 0;
  std::optional<std::chrono::duration<double>> time;
  bool is_short = false;  // see short_run.h; of `cases`, those for which there is time. Not with `listed`
  std::optional<std::chrono::duration<double>> budget;  // of a short run; empty: budget_for() what there is
  int jobs = 0;                                         // 0: one for each core
  std::uint64_t shard = 1;                              // this shard, 1 to shards
  std::uint64_t shards = 1;
  std::string out;  // folder for case files; empty: none are written
  // What --contract said, which the registry's kernels are judged by already (Registry::judge_by); for files and commands.
  std::string contract;
  RunOptions run;
  Journal* journal = nullptr;  // where what is finished is kept, and was before this run went on; or none
  // Called now and then, as often as something was finished, with what makes the result as it is by then.
  std::function<void(const std::function<RunResult()>&)> snapshot = {};
  bool strict_coverage = false;         // gaps fail a row, see reports/gaps.h
  std::vector<std::string> may_refuse;  // globs on reasons of refusals that are no gaps
  bool coverage =
      false;  // of kernels' own code, and cases drawn towards what has not run of it (guided/covered_run.h)
  int shrink_budget = 300;  // kernel runs for each failure that is shrunk
};

struct Progress {
  std::uint64_t done = 0;  // cases
  std::uint64_t total = 0;
  std::uint64_t faults = 0;
  std::chrono::duration<double> elapsed{0};
  std::optional<std::chrono::duration<double>> budget;  // of a short run, which ends before `total`
  std::string doing;                                    // "relu f32", "shrinking mm plugin:mine"
};

// Runs until done, out of time, or `interrupted` becomes true; the result is valid in each case. `progress` is called
// from one thread at a time. Throws SelectionError when nothing matches.
RunResult verify(const Registry& registry, const VerifyOptions& options, const std::atomic<bool>& interrupted,
                 const std::function<void(const Progress&)>& progress);

}  // namespace assay
