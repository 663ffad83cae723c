// What the products of quantised tensors end with.
#pragma once

#include <cstdint>

#include "roundings.h"
#include "scalars/scalar.h"

namespace assay {

// round(sum * (input_scale * weight_scale / output_scale)) + zero_point as u8; ties go to even, unless `By` rounds otherwise; NaN
// becomes 0.
template <class S, class By = ToNearestEven>
S requantised(std::int64_t sum, double input_scale, const S& weight_scale, double output_scale,
              std::int64_t zero_point) {
  const S factor = param<S>(input_scale) * weight_scale / param<S>(output_scale);
  // Beyond this many steps the result is at an end of the range whatever the zero point is.
  const S steps = maximum(minimum(S(static_cast<double>(sum)) * factor, S(1024)), S(-1024));
  const S q = By::rounded(steps) + S(static_cast<double>(zero_point));
  return select(is_nan(steps), S(0), maximum(minimum(q, S(255)), S(0)));
}

// Ends of such a product: what is meant, with a rounding; ReLU after it; what does not fit without its high bits.
template <class By>
struct Requantised {
  template <class S>
  static S of(std::int64_t sum, double input_scale, const S& weight_scale, double output_scale,
              std::int64_t zero_point) {
    return requantised<S, By>(sum, input_scale, weight_scale, output_scale, zero_point);
  }
};
struct RequantisedRelu {
  template <class S>
  static S of(std::int64_t sum, double input_scale, const S& weight_scale, double output_scale,
              std::int64_t zero_point) {
    return maximum(requantised(sum, input_scale, weight_scale, output_scale, zero_point),
                   S(static_cast<double>(zero_point)));
  }
};
struct RequantisedWrapped {
  template <class S>
  static S of(std::int64_t sum, double input_scale, const S& weight_scale, double output_scale,
              std::int64_t zero_point) {
    const S factor = param<S>(input_scale) * weight_scale / param<S>(output_scale);
    const S steps = S(static_cast<double>(sum)) * factor;
    const S q = ToNearestEven::rounded(maximum(minimum(steps, S(0x1p30)), S(-0x1p30))) +
                S(static_cast<double>(zero_point));
    return select(is_nan(steps), S(0), q - S(256) * floor(q / S(256)));
  }
};

}  // namespace assay
