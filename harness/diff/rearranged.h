// Whether a tensor is another one with its elements elsewhere: a finding, never a reason to call them equal.
#pragma once

#include <optional>
#include <string>

#include "compare.h"
#include "vocabulary/shape_rule.h"

namespace assay::diff {

// "its dimensions in the order (0, 2, 3, 1)", "dimension 2 reversed", "shifted by 3 elements", "another shape", if that is what b is of
// a: all of b's elements are, but for 16 ulp and one in a thousand, those of a there, and fewer are where they stand. Of
// tensors of up to six dimensions, and not if nearly all elements are one number.
std::optional<std::string> rearranged(const Elements& a, const Shape& shape_a, const Elements& b,
                                      const Shape& shape_b);

}  // namespace assay::diff
