// Whether two formulas of one operator are the same function, as far as arguments without any pattern show.
//
//   x * a * b and x * (b * a) are; x * a and x * |a| are not, because a may be negative.
//
// Both are evaluated in 191 bits on random numbers. Two formulas that differ agree there by a chance that nobody need fear.
#pragma once

#include "reference.h"

namespace assay {

// `also`: an operator that must give results of the same shapes for a call that counts. False also where no call could be made.
bool agree_at_generic_points(const Reference& a, const Reference& b, const Operator& also);

}  // namespace assay
