#include "ops/quantized_linear.h"

#include "reference_of.h"
#include "requantised.h"

namespace assay {
namespace {

// `End` makes a result of a sum.
template <class End>
struct QuantizedLinearEnding {
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
    integer_products<S>(terms);
    return End::template of<S>(total, input_scale, weight_scale.at(c), output_scale, output_zero_point);
  }
};

using QuantizedLinear = QuantizedLinearEnding<Requantised<ToNearestEven>>;

const EnrolledReference quantized_linear_reference{reference<ops::quantized_linear, QuantizedLinear>()};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong quantized_linear_wrong[] = {
    EnrolledWrong{wrong_formula<ops::quantized_linear, QuantizedLinearEnding<Requantised<TiesAway>>>("ties_away", "rounds ties away from zero, as C's round")},
    EnrolledWrong{wrong_formula<ops::quantized_linear, QuantizedLinearEnding<Requantised<TiesUpwards>>>("ties_upwards", "rounds ties upwards")},
    EnrolledWrong{wrong_formula<ops::quantized_linear, QuantizedLinearEnding<Requantised<Truncated>>>("truncated", "cuts off instead of rounding")},
    EnrolledWrong{wrong_formula<ops::quantized_linear, QuantizedLinearEnding<Requantised<Floored>>>("floored", "rounds down instead of to nearest")},
    EnrolledWrong{wrong_formula<ops::quantized_linear, QuantizedLinearEnding<RequantisedRelu>>("relu", "gives the zero point for what is below 0, as with ReLU")},
    EnrolledWrong{wrong_formula<ops::quantized_linear, QuantizedLinearEnding<RequantisedWrapped>>("wrapped", "keeps the low 8 bits of what does not fit")}};

}  // namespace
}  // namespace assay
