// Has a kernel become slower? Two builds of it in one process, on the same memory, round by round.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench.h"

namespace assay {

struct GateOptions {
  BenchOptions bench;
  std::string candidate;  // a library of kernels (assay/kernel.h); empty: ours
  std::string base;
  bool skip_unchanged = true;  // what is the same machine code is not timed
};

// What says whether this machine is fit to judge now: the baseline against a copy of itself.
struct Canary {
  int trials = 0;
  int alarms = 0;
};

class Gate {
 public:
  // Throws RegistryError for libraries that cannot be used, SelectionError for kernels that the candidate does not have, and
  // std::runtime_error if none of those that are asked for runs here.
  Gate(const GateOptions& options, std::string program);
  ~Gate();

  // The cases and kernels to be compared, one row each, kernels that only one of them has included.
  struct Subject {
    const BenchCase* bench_case = nullptr;
    const Kernel* candidate = nullptr;
    const Kernel* base = nullptr;  // nullptr: the baseline has no such kernel
    Cache cache = Cache::warm;
    int threads = 1;
  };
  const std::vector<Subject>& subjects() const;

  // With an outcome, or why there is none, and whose fault that is: a baseline that is not right, or refuses, leaves a row that
  // is not run. Like those below it throws SessionStopped.
  BenchRow compare(const Subject& subject);
  // The baseline's kernel against its copy; an alarm if they differ beyond the threshold, twice.
  void try_canary(const Subject& subject, Canary& canary);
  // One comparison of the candidate with itself, slowed by this share; for `--study`.
  GateOutcome trial(const Subject& subject, double slowed, std::uint64_t seed);

  nlohmann::json machine_limits();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
