// Which cases and kernels two libraries are compared by.
#pragma once

#include <string>
#include <vector>

#include "bench.h"

namespace assay {

struct GateOptions {
  BenchOptions bench;
  // Of a case whose data comes from memory, as bench.seconds is of the others: calls of milliseconds make few rounds.
  double dram_seconds = 2;
  std::string candidate;  // a library of kernels (assay/kernel.h); empty: ours
  std::string base;
  bool skip_unchanged = true;  // what is the same machine code is not timed
};

// A row of a comparison.
struct GateSubject {
  const BenchCase* bench_case = nullptr;
  const Kernel* candidate = nullptr;
  const Kernel* base = nullptr;  // nullptr: the baseline has no such kernel
  Cache cache = Cache::warm;
  int threads = 1;
};

// Each case that is asked for, in each state, with each kernel of the candidate that `impls` names, or of each operator the one
// with the widest vectors that runs here. Both libraries, by the paths in the options, are plugins of these registries. Throws
// SelectionError for what is asked for and not there, and std::runtime_error if nothing of it runs here.
std::vector<GateSubject> gate_subjects(const GateOptions& options, const Registry& candidate,
                                       const Registry& base);

}  // namespace assay
