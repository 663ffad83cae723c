#include "ops/quantize.h"

#include "reference_of.h"
#include "roundings.h"

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

template <class By>
struct QuantizedBy {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S steps = maximum(minimum(self[i] / param<S>(scale), S(1024)), S(-1024));
    const S q = By::rounded(steps) + S(static_cast<double>(zero_point));
    return select(is_nan(self[i]), S(range.least), maximum(minimum(q, S(range.greatest)), S(range.least)));
  }
};

struct ZeroPointFirst {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S steps = maximum(minimum(self[i] / param<S>(scale), S(1024)), S(-1024));
    const S q = cast<S>(steps + S(static_cast<double>(zero_point)), Dtype::i32);
    return select(is_nan(self[i]), S(range.least), maximum(minimum(q, S(range.greatest)), S(range.least)));
  }
};

struct SymmetricRange {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const S q = QuantizePerTensor{}(self, scale, zero_point, dtype, i);
    return maximum(q, S(integer_range(dtype).least + 1));
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
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, QuantizedBy<TiesUpwards>>("ties_upwards",
                                                                                    "rounds ties upwards")},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, QuantizedBy<TiesAway>>(
                      "ties_away", "rounds ties away from zero, as C's round")
                      .as_defined_by("quantisation as TensorFlow Lite has it")},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, QuantizedBy<Truncated>>(
        "truncated", "cuts off instead of rounding")},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, QuantizedBy<Floored>>(
        "floored", "rounds down instead of to nearest")},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, ZeroPointFirst>(
        "zero_point_first", "adds the zero point before it rounds")},
    EnrolledWrong{
        wrong_formula<ops::quantize_per_tensor, SymmetricRange>(
            "symmetric_range", "leaves the least integer out: -127 instead of -128")
            .as_defined_by("symmetric quantisation, as TensorRT and TensorFlow Lite have it for weights")},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, Wrapped>(
        "wrapped", "keeps the low 8 bits of what does not fit")},
    EnrolledWrong{wrong_formula<ops::dequantize_per_tensor, ZeroPointLast>(
        "zero_point_last", "takes the zero point away after scaling")}};

}  // namespace
}  // namespace assay
