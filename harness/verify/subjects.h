// What a run is about: operators and dtypes, and the kernels of each.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace assay
