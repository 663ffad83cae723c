// Kernels that are wrong because of what was called before (variants/stateful.h): they run as a run of `verify` runs a kernel, with
// its further calls, from the first call of a process on.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "../variants/stateful.h"
#include "trial.h"

namespace assay {

// Those that the operator can have. One that no test can tell from a right kernel is none.
std::vector<const StatefulKind*> stateful_faults(const Operator& op);

class StateTrial {
 public:
  // What it is given must outlive it.
  StateTrial(const Subject& subject, const std::string& program, const SelftestOptions& options);

  // The cases of a run, until everything was found; then those that rivals look at.
  void run(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted);

  std::vector<Planted> planted() const;

 private:
  struct Suspect {
    Kernel kernel;
    Planted planted;
  };

  std::vector<Case> cases(std::mutex& generator, std::uint64_t first) const;
  void examine(Examiner& examiner, const std::vector<Case>& cases, Further further);
  void ask_rivals(Examiner& examiner, const std::vector<Case>& cases);

  const Subject& subject_;
  const SelftestOptions& options_;
  std::deque<Suspect> suspects_;
};

}  // namespace assay
