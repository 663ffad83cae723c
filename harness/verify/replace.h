// Other cases in place of those that a kernel refused.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../examine/examine.h"
#include "../generate/steering.h"

namespace assay {

struct Replacement {
  const Kernel* kernel;
  Dtype dtype;
  std::uint64_t missing;  // so many cases are to be judged
  std::uint64_t index;    // number of the first one, for the order of failures
};

// Draws cases that the kernel may take, runs them and hands each one that it did not refuse to `judged`, with its number and its
// classes, until `missing` were, none came for long, or `over`. Cases that are refused on the way cost little: the reference does
// not run for them. A refusal that the kernel had not declared beforehand is handed on, too.
void replace_refused(Examiner& examiner, Steering& steering, const Replacement& what,
                     const std::function<bool()>& over,
                     const std::function<void(const Finding&, const Case&, std::uint64_t index)>& judged);

}  // namespace assay
