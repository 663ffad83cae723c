#include "ops/quantized_convolution.h"

#include "reference_of.h"
#include "requantised.h"
#include "windows.h"

namespace assay {
namespace {

// `End` makes a result of a sum.
template <class End>
struct QuantizedConvolutionEnding {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>& weight_scale,
               const Tensor<S>& weight_zero_point, const Tensor<S>* bias,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, std::int64_t groups, double input_scale,
               std::int64_t input_zero_point, double output_scale, std::int64_t output_zero_point,
               const Index& i) const {
    const Window window{stride, padding, dilation};
    const std::int64_t image = inner(input, 2), taps = inner(weight, 2), channels = weight.size(1);
    const std::int64_t k = i[1], first = k / (weight.size(0) / groups) * channels;
    const std::int64_t own = weight_scale.numel() == 1 ? 0 : k;  // one scale for all, or one for each output
    std::int64_t total = bias != nullptr ? bias->integer_at(k) : 0;
    for (std::int64_t r = 0; r < taps; ++r) {
      const std::int64_t at = window.target(i, r, weight.shape(), input.shape());
      if (at < 0) continue;
      integer_products<S>(channels);
      for (std::int64_t c = 0; c < channels; ++c)
        total += (input.integer_at((i[0] * input.size(1) + first + c) * image + at) - input_zero_point) *
                 (weight.integer_at((k * channels + c) * taps + r) - weight_zero_point.integer_at(own));
    }
    return End::template of<S>(total, input_scale, weight_scale.at(own), output_scale, output_zero_point);
  }
};

using QuantizedConvolution = QuantizedConvolutionEnding<Requantised<ToNearestEven>>;

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct PaddedWithIntegerZero {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>& weight_scale,
               const Tensor<S>& weight_zero_point, const Tensor<S>* bias,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, std::int64_t groups, double input_scale,
               std::int64_t input_zero_point, double output_scale, std::int64_t output_zero_point,
               const Index& i) const {
    const Window window{stride, padding, dilation};
    const std::int64_t image = inner(input, 2), taps = inner(weight, 2), channels = weight.size(1);
    const std::int64_t k = i[1], first = k / (weight.size(0) / groups) * channels;
    const std::int64_t own = weight_scale.numel() == 1 ? 0 : k;
    std::int64_t total = bias != nullptr ? bias->integer_at(k) : 0;
    for (std::int64_t r = 0; r < taps; ++r) {
      const std::int64_t at = window.target(i, r, weight.shape(), input.shape());
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t x = at < 0 ? 0 : input.integer_at((i[0] * input.size(1) + first + c) * image + at);
        total += (x - input_zero_point) *
                 (weight.integer_at((k * channels + c) * taps + r) - weight_zero_point.integer_at(own));
      }
    }
    return requantised(total, input_scale, weight_scale.at(own), output_scale, output_zero_point);
  }
};

const EnrolledReference quantized_convolution_reference{
    reference<ops::quantized_convolution, QuantizedConvolution>()};

const EnrolledWrong quantized_convolution_wrong[] = {
    EnrolledWrong{wrong_formula<ops::quantized_convolution, QuantizedConvolutionEnding<Requantised<TiesAway>>>("ties_away", "rounds ties away from zero, as C's round")},
    EnrolledWrong{wrong_formula<ops::quantized_convolution, QuantizedConvolutionEnding<Requantised<TiesUpwards>>>("ties_upwards", "rounds ties upwards")},
    EnrolledWrong{wrong_formula<ops::quantized_convolution, QuantizedConvolutionEnding<Requantised<Truncated>>>("truncated", "cuts off instead of rounding")},
    EnrolledWrong{wrong_formula<ops::quantized_convolution, QuantizedConvolutionEnding<Requantised<Floored>>>("floored", "rounds down instead of to nearest")},
    EnrolledWrong{wrong_formula<ops::quantized_convolution, QuantizedConvolutionEnding<RequantisedRelu>>("relu", "gives the zero point for what is below 0, as with ReLU")},
    EnrolledWrong{wrong_formula<ops::quantized_convolution, QuantizedConvolutionEnding<RequantisedWrapped>>("wrapped", "keeps the low 8 bits of what does not fit")},
    EnrolledWrong{wrong_formula<ops::quantized_convolution, PaddedWithIntegerZero>(
        "padded_with_zeros", "pads with the integer 0, and not with the zero point")}};

}  // namespace
}  // namespace assay
