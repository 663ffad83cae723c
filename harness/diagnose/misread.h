// Rows that are read from other places than they lie in, or stored there: another pitch, one row for several, the first ones again.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// "takes the rows of mat2 to lie 64 elements apart, where 60 are", "reads index i / 2 of dimension 0 of mat2 for index i", "stores the rows of
// the result 64 elements apart", where that gives the elements that diverge, of those that were looked at. To be tried on all elements. What
// lies beyond a tensor's end is taken to be 0. Nothing of tensors with more than a million elements.
std::vector<Variant> misread_of(Evidence& evidence);

}  // namespace assay::diagnose
