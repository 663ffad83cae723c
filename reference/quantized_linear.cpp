#include "ops/quantized_linear.h"

#include "reference_of.h"

namespace assay {
namespace {

struct QuantizedLinear {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>& weight_scale,
               const Tensor<S>& weight_zero_point, const Tensor<S>* bias, double input_scale,
               std::int64_t input_zero_point, double output_scale, std::int64_t output_zero_point,
               const Index& i) const {
    const std::int64_t terms = weight.size(1), row = i.number() / weight.size(0), j = i[i.rank() - 1];
    const std::int64_t c = weight_scale.numel() == 1 ? 0 : j;  // one scale for all, or one for each output
    std::int64_t total = bias != nullptr ? bias->integer_at(j) : 0;
    for (std::int64_t k = 0; k < terms; ++k)
      total += (input.integer_at(row * terms + k) - input_zero_point) *
               (weight.integer_at(j * terms + k) - weight_zero_point.integer_at(c));
    const S factor = param<S>(input_scale) * weight_scale.at(c) / param<S>(output_scale);
    // Beyond this many steps the result is at an end of the range whatever the zero point is.
    const S steps = maximum(minimum(S(static_cast<double>(total)) * factor, S(1024)), S(-1024));
    const S q = cast<S>(steps, Dtype::i32) + S(static_cast<double>(output_zero_point));
    return select(is_nan(steps), S(0), maximum(minimum(q, S(255)), S(0)));
  }
};

const EnrolledReference enrolled{reference<ops::quantized_linear, QuantizedLinear>()};

}  // namespace
}  // namespace assay
