// Two indices of a tensor's dimension that were taken for each other: the channels of an image, say, or two rows of a weight.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// "reads indices 1 and 3 of dimension 1 of input in exchange", where that gives the elements that diverge, of those that were looked at. To
// be tried on all elements. Nothing of tensors with more than a million elements, nor of dimensions longer than 64.
std::vector<Variant> exchanged_of(Evidence& evidence);

}  // namespace assay::diagnose
