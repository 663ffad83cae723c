// What the products of quantised tensors end with.
#pragma once

#include <cstdint>

#include "scalars/scalar.h"

namespace assay {

// round(sum * (input_scale * weight_scale / output_scale)) + zero_point as u8; ties go to even, NaN becomes 0.
template <class S>
S requantised(std::int64_t sum, double input_scale, const S& weight_scale, double output_scale,
              std::int64_t zero_point) {
  const S factor = param<S>(input_scale) * weight_scale / param<S>(output_scale);
  // Beyond this many steps the result is at an end of the range whatever the zero point is.
  const S steps = maximum(minimum(S(static_cast<double>(sum)) * factor, S(1024)), S(-1024));
  const S q = cast<S>(steps, Dtype::i32) + S(static_cast<double>(zero_point));
  return select(is_nan(steps), S(0), maximum(minimum(q, S(255)), S(0)));
}

}  // namespace assay
