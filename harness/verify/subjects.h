// What a run is about: operators and dtypes, and the kernels of each.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reports/result.h"
#include "verify.h"

namespace assay {

// One operator and dtype, with the kernels to run.
struct Chosen {
  const Operator* op;
  Dtype dtype;
  std::vector<const Kernel*> kernels;  // available
  std::vector<const Kernel*> unavailable;
  std::vector<const Kernel*> left_out;  // by a short run
  std::vector<std::uint64_t> order{};   // of a short run's cases; empty until the first is made
  std::vector<std::uint64_t> listed{};  // which cases of VerifyOptions::listed are its own
};

// Those that the options select, of generated or of listed cases. Throws SelectionError.
std::vector<Chosen> subjects(const Registry& registry, const VerifyOptions& options);

// Of libraries' kernels, as many as one operator and dtype has at most.
std::size_t most_plugin_kernels(const std::vector<Chosen>& subjects);

// Of a short run: which part of the thorough one it was, if `done` says how many operators and dtypes had each lot of `chunk` cases.
ShortRun part_that_ran(const std::vector<Chosen>& subjects, const VerifyOptions& options,
                       const std::map<std::uint64_t, std::uint64_t>& done, std::uint64_t chunk, double budget);

}  // namespace assay
