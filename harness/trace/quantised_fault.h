// What became of numbers that an engine keeps as integers, where they are not the nearest that their step allows.
#pragma once

#include <optional>
#include <string>

#include "quantised.h"

namespace assay {

// One change that explains each of them within half a step: another zero point, another step, signs lost, other places. In words that follow
// the tensor's name: "is what it was plus 3 steps: another zero point". Nothing if no change does, or if they are not of one size. `before` may have been
// reshaped from `whole`, which it is then looked for in another order of dimensions.
std::optional<std::string> quantised_fault(const Steps& steps, const TensorData& before, const TensorData& after, const Shape& whole);

}  // namespace assay
