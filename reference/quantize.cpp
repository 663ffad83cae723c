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

const EnrolledReference enrolled[] = {
    EnrolledReference{reference<ops::quantize_per_tensor, QuantizePerTensor>()},
    EnrolledReference{reference<ops::dequantize_per_tensor, DequantizePerTensor>()}};

}  // namespace
}  // namespace assay
