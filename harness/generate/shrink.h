// From a failing case to a smallest one that still fails.
#pragma once

#include <functional>

#include "vocabulary/case.h"

namespace assay {

struct Shrunk {
  Case smallest;
  int tries = 0;  // how often `still_fails` was asked
};

// Works on any case: generated, written by hand, from a fixture or a replay. Tries, as often as something helps: fewer
// dimensions, smaller sizes of the shape rule's symbols (all tensors follow), less broadcasting, contiguous layouts,
// simpler attributes, one dtype, simpler data, a small seed. Every candidate has results of the same dtype, or, if the
// operator does not allow the case, is not allowed either. Deterministic; `still_fails` is asked at most `budget` times and never twice about a case.
Shrunk shrink(const Case& failing, const std::function<bool(const Case&)>& still_fails, int budget);

}  // namespace assay
