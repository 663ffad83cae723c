#include "ops/quantize.h"

#include "reference_of.h"

namespace assay {
namespace {

struct QuantizePerTensor {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S x = self[i];
    // Beyond this many steps the result is at an end of the range whatever the zero point is.
    const S steps = maximum(minimum(x / param<S>(scale), S(1024)), S(-1024));
    const S q = cast<S>(steps, Dtype::i32) + S(static_cast<double>(zero_point));
    return select(is_nan(x), S(range.least), maximum(minimum(q, S(range.greatest)), S(range.least)));
  }
};

struct DequantizePerTensor {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, const Index& i) const {
    return (self[i] - S(static_cast<double>(zero_point))) * param<S>(scale);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct TiesUpwards {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S steps = maximum(minimum(self[i] / param<S>(scale), S(1024)), S(-1024));
    const S q = floor(steps + S(0.5)) + S(static_cast<double>(zero_point));
    return select(is_nan(self[i]), S(range.least), maximum(minimum(q, S(range.greatest)), S(range.least)));
  }
};

struct Truncated {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S steps = maximum(minimum(self[i] / param<S>(scale), S(1024)), S(-1024));
    const S q = trunc(steps) + S(static_cast<double>(zero_point));
    return select(is_nan(self[i]), S(range.least), maximum(minimum(q, S(range.greatest)), S(range.least)));
  }
};

struct Wrapped {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S steps = maximum(minimum(self[i] / param<S>(scale), S(1024)), S(-1024));
    const S q = cast<S>(steps, Dtype::i32) + S(static_cast<double>(zero_point) - range.least);
    return select(is_nan(self[i]), S(range.least), q - S(256) * floor(q / S(256)) + S(range.least));
  }
};

struct ZeroPointLast {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, const Index& i) const {
    return self[i] * param<S>(scale) - S(static_cast<double>(zero_point));
  }
};

const EnrolledReference quantize_reference[] = {
    EnrolledReference{reference<ops::quantize_per_tensor, QuantizePerTensor>()},
    EnrolledReference{reference<ops::dequantize_per_tensor, DequantizePerTensor>()}};

const EnrolledWrong quantize_wrong[] = {
    EnrolledWrong{
        wrong_formula<ops::quantize_per_tensor, TiesUpwards>("ties_upwards", "rounds ties upwards")},
    EnrolledWrong{
        wrong_formula<ops::quantize_per_tensor, Truncated>("truncated", "cuts off instead of rounding")},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, Wrapped>(
        "wrapped", "keeps the low 8 bits of what does not fit")},
    EnrolledWrong{wrong_formula<ops::dequantize_per_tensor, ZeroPointLast>(
        "zero_point_last", "takes the zero point away after scaling")}};

}  // namespace
}  // namespace assay
