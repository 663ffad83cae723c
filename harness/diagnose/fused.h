// Functions that are fused with an operator in networks, and were not asked for.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// Those of one number.
void add_fused(const Operator& op, std::vector<Variant>& all);

// Those whose numbers are read off the results (the slope of a leaky ReLU), that come before the bias is added, after a result was rounded
// to 16 bits, or that belong to a whole row (softmax): those that fit the elements that are looked at, to be tried on all.
std::vector<Variant> fused_of(Evidence& evidence);

}  // namespace assay::diagnose
