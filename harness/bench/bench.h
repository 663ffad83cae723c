// What `assay bench` times, and what came of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../registry/registry.h"
#include "cache_state.h"
#include "placement.h"
#include "reports/bench_row.h"
#include "session.h"
#include "shapes.h"

namespace assay {

struct BenchOptions {
  std::vector<BenchCase> cases;
  std::vector<std::string> impls;  // shell globs; empty: the widest of ours and of each peer
  std::vector<Cache> caches{Cache::warm};
  std::vector<int> threads{1};
  std::string cpus;
  std::string node;
  double seconds = 2;  // at most, of one case in one state
  int rounds = 40;
  double timeout = 30;  // seconds that one call of a kernel may take
  std::uint64_t seed = 1;
  // Nobody wants to wait any longer: Bench then throws SessionStopped.
  Stop stop;
};

// A case in one state, with the kernels that are timed on it side by side.
struct BenchGroup {
  const BenchCase* bench_case = nullptr;
  Cache cache = Cache::warm;
  int threads = 1;
  std::vector<const Kernel*> kernels;  // available
  std::vector<const Kernel*> missing;
  std::vector<std::string> variables;  // of the process
};

// What is known of a kernel's row before it is timed.
BenchRow planned_row(const BenchGroup& group, const Kernel& kernel);

// Kernels that want other environments are timed in other processes, each time beside those that want none.
std::vector<BenchGroup> plan(const Registry& registry, const BenchOptions& options);

// Why a kernel is not timed in that state, or empty.
std::string untimed_because(const Kernel& kernel, Cache cache);

// The peer's kernel for the next narrower instruction set that runs here; nullptr if there is none.
const Kernel* narrower(const Registry& registry, const Kernel& kernel);

// The group with another kernel in the place of its i-th; nothing if no process can have all their variables.
std::optional<BenchGroup> with_other(const BenchGroup& group, std::size_t i, const Kernel& other);

// Times groups, one after the other; keeps a process while it lives and the next group wants one like it.
class Bench {
 public:
  // `registry` must outlive this.
  Bench(const Registry& registry, std::string program, const BenchOptions& options);

  // A row for each kernel of the group, missing ones included.
  std::vector<BenchRow> measure(const BenchGroup& group);

  // What the machine can do; see bandwidth.h. Empty, with a note, if it could not be measured.
  nlohmann::json machine_limits();

 private:
  const Placement& placement(int threads);
  Session& session(const BenchGroup& group);
  // Which of the kernels end the process or never return, each tried alone.
  std::vector<std::string> fatal(const BenchGroup& group);
  // What becomes of the last of these in a process of their own: why it is wrong or dies, or "".
  std::string apart(const BenchGroup& group, const std::vector<const Kernel*>& kernels);
  // Whether a kernel is wrong or dies beside others alone; if so, the one that makes it so, and by what. `why`: what is known.
  struct Culprit {
    std::size_t kernel;
    std::string reason;
  };
  std::optional<Culprit> culprit(const BenchGroup& group, std::size_t victim, const std::string& why);
  std::optional<Culprit> culprit(const BenchGroup& group, const nlohmann::json& opened, const nlohmann::json& closed);
  // By default a peer's widest kernel is timed; where that refuses a dtype that narrower ones take (oneDNN's for bf16 refuse
  // f32), theirs is. What is known of that from earlier groups, and what the answer of a process adds: the next group to try.
  BenchGroup known(const BenchGroup& asked) const;
  std::optional<BenchGroup> next(const BenchGroup& group, const nlohmann::json& statuses);

  const Registry& registry_;
  BenchOptions options_;
  Modules modules_;
  std::map<int, Placement> placements_;
  std::optional<Session> session_;
  int session_threads_ = 0;
  std::vector<std::string> session_variables_;
  // For each library and dtype the kernel that took it.
  std::map<std::pair<std::string, std::string>, std::string> settled_;
};

}  // namespace assay
