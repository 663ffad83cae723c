// Has a kernel become slower? Two builds of it in one process, on the same memory, round by round.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gate_subjects.h"

namespace assay {

// What says whether this machine is fit to judge now: the baseline against a copy of itself.
struct Canary {
  int trials = 0;
  int alarms = 0;
  int without = 0;  // that could not be timed
};

class Gate {
 public:
  // Throws RegistryError for libraries that cannot be used, SelectionError for kernels that the candidate does not have, and
  // std::runtime_error if none of those that are asked for runs here.
  Gate(const GateOptions& options, std::string program);
  ~Gate();

  // What is compared, one row each, kernels that only one of them has included.
  const std::vector<GateSubject>& subjects() const;

  // With an outcome, or why there is none, and whose fault that is: a baseline that is not right, or refuses, leaves a row that
  // is not run. Like those below it throws SessionStopped.
  BenchRow compare(const GateSubject& subject);
  // The baseline's kernel against its copy; an alarm if they differ beyond the threshold, twice.
  void try_canary(const GateSubject& subject, Canary& canary);
  // One comparison of the candidate with itself, slowed by this share; for `--study`.
  GateOutcome trial(const GateSubject& subject, double slowed, std::uint64_t seed);

  nlohmann::json machine_limits();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
