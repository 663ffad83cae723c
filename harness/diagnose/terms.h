// Terms of sums that a kernel leaves out, counts twice, or takes earlier ones for: found from what results lack, so that no
// list has to have the tile, its size and its place.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// Faults that explain some of the elements which diverge. They are to be held against all others. Of the first tensor, and its first
// dimension, for which there are any.
std::vector<Variant> terms_of(Evidence& evidence);

}  // namespace assay::diagnose
