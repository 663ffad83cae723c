#include "ops/quantize.h"

#include "in_f32.h"
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

// By 1 / scale in f32, which is infinite for a subnormal scale.
struct ByReciprocal {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S product = self[i] * in_f32(S(1) / param<S>(scale));
    const S q = cast<S>(maximum(minimum(product, S(1024)), S(-1024)), Dtype::i32) +
                S(static_cast<double>(zero_point));
    return select(is_nan(product), S(range.least), maximum(minimum(q, S(range.greatest)), S(range.least)));
  }
};

// x86 gives the least integer for each number that an i32 does not hold.
struct OverflowingSteps {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const S q = QuantizePerTensor{}(self, scale, zero_point, dtype, i);
    return select(self[i] / param<S>(scale) >= S(0x1p31), S(integer_range(dtype).least), q);
  }
};

struct SaturatedFirst {
  template <class S>
  S operator()(const Tensor<S>& self, double scale, std::int64_t zero_point, Dtype dtype,
               const Index& i) const {
    const IntegerRange range = integer_range(dtype);
    const S least(range.least), greatest(range.greatest);
    const S steps = maximum(minimum(self[i] / param<S>(scale), greatest), least);
    const S q = cast<S>(steps, Dtype::i32) + S(static_cast<double>(zero_point));
    return select(is_nan(self[i]), least, maximum(minimum(q, greatest), least));
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
    // It shows where 1 / scale is infinite or x / scale next to a tie, which not every run of cases has.
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, ByReciprocal>(
                      "by_reciprocal", "multiplies with 1 / scale, in f32, instead of dividing by scale")
                      .looked_for_only()},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, OverflowingSteps>(
        "overflows", "gives the least integer where x / scale is from 2^31 on, as x86 converts to 32 bits")},
    EnrolledWrong{wrong_formula<ops::quantize_per_tensor, SaturatedFirst>(
        "saturated_first", "saturates before it adds the zero point, and after it")},
    EnrolledWrong{wrong_formula<ops::dequantize_per_tensor, ZeroPointLast>(
        "zero_point_last", "takes the zero point away after scaling")}};

}  // namespace
}  // namespace assay
