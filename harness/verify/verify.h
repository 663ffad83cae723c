// The gate: cases of every operator on every kernel, judged, shrunk and recorded.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../generate/errors.h"
#include "../registry/registry.h"
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
      false;  // of kernels' own code, and cases drawn towards what has not run of it (coverage/covered_run.h)
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

// Asked for something that does not exist; the message names the nearest thing that does.
struct SelectionError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Runs until done, out of time, or `interrupted` becomes true; the result is valid in each case. `progress` is called
// from one thread at a time. Throws SelectionError when nothing matches.
RunResult verify(const Registry& registry, const VerifyOptions& options, const std::atomic<bool>& interrupted,
                 const std::function<void(const Progress&)>& progress);

// The operators that globs select, as selects_operator() says. Throws SelectionError for a glob that matches nothing, and where all of them
// leave none.
std::vector<const Operator*> select_operators(const std::vector<std::string>& patterns);
// Whether the kernel's name matches one of the globs, or there are none but those that begin with "!"; and none of these.
bool selects(const std::vector<std::string>& globs, const std::string& name);
// The same of an operator, in each of its spellings: "add" and "aten::add*" match add.Tensor.
bool selects_operator(const std::vector<std::string>& globs, const std::string& name);
// The same of a kernel that has two names.
bool selects(const std::vector<std::string>& globs, const std::string& name, const std::string& other);
// Whether a glob that matches asks for it, which not to exclude it is not.
bool names(const std::vector<std::string>& globs, const std::string& name);
// Whether it is one of them, in which nothing stands for others.
bool names_literally(const std::vector<std::string>& globs, const std::string& name);
// Whether any of them is PyTorch's, on the processor or a GPU: its registry is loaded only then.
bool selects_torch(const std::vector<std::string>& globs);
// Throws SelectionError for a pattern that names a kernel, where it was meant for the list of --impl.
void check_patterns(const Registry& registry, const std::vector<std::string>& globs,
                    const std::vector<std::string>& patterns);
// Throws SelectionError for a glob that no kernel of these operators matches, and where all of them leave none.
void check_impls(const Registry& registry, const std::vector<const Operator*>& operators,
                 const std::vector<std::string>& globs);

}  // namespace assay
