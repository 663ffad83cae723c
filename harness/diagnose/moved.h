// Results that stand elsewhere than they belong: a block of them, or the indices of a dimension in another order.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// To be tried on all elements: what stands at each index of a dimension belongs to another one ("exchanged", "rotated", "in reverse
// order", ..), or what diverges stands so many elements from where it belongs, along several dimensions as well, round the end or not.
std::vector<Variant> moved_of(Evidence& evidence);

}  // namespace assay::diagnose
