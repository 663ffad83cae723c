// Results of calls that the dump does not have: how far what a right engine gave may be from what stands for it.
#pragma once

#include <vector>

#include "../judge/expectation.h"
#include "vocabulary/contract.h"

namespace assay {

// Of what the reference gives, rounded: by the bound of each element (of large results of some, and the most of those for the others),
// and by `moved`, how far it moves as the inputs do within what they are known in (diagnose/rounding.h; or empty).
std::vector<double> within_bounds(Expectation& expectation, int output, const Contract& contract,
                                  const std::vector<double>& moved);

// Of what PyTorch gave for a call that Assay cannot compute: nearly the same. Empty of integers.
std::vector<double> within_nearly(const TensorData& torchs);

}  // namespace assay
