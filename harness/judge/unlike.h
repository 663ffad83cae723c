// Which elements need an interval.
#pragma once

#include <cstddef>
#include <vector>

#include "expectation.h"

namespace assay {

// The elements of a packed result that are not what the reference gives when it is rounded, in ascending order: all others are right
// without a look at their bounds. NaN is NaN. Precondition: the output is not computed in integers.
std::vector<std::size_t> unlike_reference(Expectation& expectation, int output,
                                          const std::vector<std::byte>& packed);

// What a result of this dtype is read as: of bool a byte, which is neither true nor false if it is neither 0 nor 1.
constexpr Dtype in_memory(Dtype dtype) { return dtype == Dtype::boolean ? Dtype::u8 : dtype; }

}  // namespace assay
