// What a run is about: operators and dtypes, and the kernels of each.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reports/result.h"
#include "verify.h"

namespace assay {

// A subject of the run: one operator and dtype, with the kernels to run.
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

// The largest number of plugins' kernels that one subject has.
std::size_t most_plugin_kernels(const std::vector<Chosen>& subjects);

// Which part of the thorough run a short run was. `done`: for each chunk, by its number, how many subjects had it. `chunk`: the cases of one.
ShortRun part_that_ran(const std::vector<Chosen>& subjects, const VerifyOptions& options,
                       const std::map<std::uint64_t, std::uint64_t>& done, std::uint64_t chunk, double budget);

}  // namespace assay
