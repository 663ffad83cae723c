// What a convolution takes for elements outside of its image: another number than 0.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// Of a convolution with padding, not transposed: the one number with which it pads, as results that diverge say: "pads with -128 in place
// of 0". Nothing where they say different ones. To be tried on all elements.
std::vector<Variant> outside_of(Evidence& evidence);

}  // namespace assay::diagnose
