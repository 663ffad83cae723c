// The elements of a tensor of integers, by their places in row-major order.
#pragma once

#include <cstdint>

#include "view.h"

namespace assay {

// Element k.
std::int64_t integer_of(const View& v, std::int64_t k);

// Whether elements [k, k + n), all of them along the last dimension of a tensor of i64 or i32, are from 0 to count - 1.
// False of other dtypes.
bool row_below(const View& v, std::int64_t k, std::int64_t n, std::int64_t count);

}  // namespace assay
