// Cases whose shapes, attributes, dtypes, layouts and data are drawn one by one.
#pragma once

#include <cstdint>
#include <string_view>

#include "draw.h"
#include "vocabulary/case.h"

namespace assay {

// What the key says. With `is_split`, there is enough work that kernels split it among threads. The argument check may refuse
// the case: values that were drawn one by one need not go together.
Case random_case(const Operator& op, Dtype dtype, std::uint64_t key, bool is_split);

// A kind of data (families.h) that the operator has something of, as often as its weight says.
std::string_view draw_family(Draw& draw, const Operator& op);

// Divided by the root of squares that vanish, and of no epsilon, numbers are anything.
void keep_epsilon_from_zero(Case& c);

}  // namespace assay
