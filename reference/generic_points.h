// Whether two formulas of one operator are the same function, as far as arguments without any pattern show.
//
//   x * a * b and x * (b * a) are; x * a and x * |a| are not, because a may be negative.
//
// Both are evaluated in 191 bits on random numbers. Two formulas that differ agree there by a chance that nobody need fear.
#pragma once

#include "reference.h"

namespace assay {

enum class GenericPoints : std::uint8_t { differ, agree, other_shapes };

// `mutated`: what `a` is called as. Where it cannot be called, or has results of other shapes, nothing is compared.
GenericPoints compare_at_generic_points(const Reference& a, const Reference& b, const Operator& mutated);

}  // namespace assay
