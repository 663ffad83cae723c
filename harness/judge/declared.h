// Of results that are right by what their kernel declares: whether they would be under the strictest contract, too, and if not, which
// of the declared weaknesses they need.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "expectation.h"

namespace assay {

// The fields that the results need, as declared: "nonfinite=unspecified"; where each of several suffices, they stand
// together: "exp=2ulp or div=1", or "several together" where none does alone. Empty where the strictest contract allows what was looked at: 48 elements of each output, those
// that are zeros of the other sign, those of which any result would pass, those that use most of their bounds and those that are
// farthest from the reference. So what is found is so, and more may be there. Fields about bits (layout_invariant, deterministic,
// ...) are not tried, which takes other runs. Results are packed, one for each output.
//
// Costs intervals of the elements looked at under the strictest contract, and under one contract more for each weakness where
// these do not hold.
std::vector<std::string> needed_weaknesses(const Contract& contract, Expectation& expectation,
                                           std::span<const std::vector<std::byte>> outputs);

}  // namespace assay
