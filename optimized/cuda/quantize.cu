// Real numbers as integers with a scale and a zero point, and back.
//
// The quotient is a division, rounded once, and not a product with the reciprocal, which moves some of it
// across a tie. It is cut to a range that an integer holds before it is converted, and rint() rounds ties to
// even, as the formula does; the zero point is added after that, in integers, where it cannot move a tie. NaN
// fails the comparison that keeps a number. The way back has one rounding, that of the product.
#include "ops/quantize.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Quantize {
  float scale;
  std::int64_t zero_point, least, greatest;
  __device__ std::int64_t integers(float x) const {
    const float quotient = x / scale;
    const float steps = quotient > -1024.0f ? (quotient < 1024.0f ? quotient : 1024.0f) : -1024.0f;
    const std::int64_t q = static_cast<std::int32_t>(rint_of(steps)) + zero_point;
    return q < least ? least : q > greatest ? greatest : q;
  }
};

struct Dequantize {
  float scale;
  std::int32_t zero_point;
  __device__ float operator()(std::int64_t x) const {
    return static_cast<float>(static_cast<std::int32_t>(x) - zero_point) * scale;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

// The low bits are those of either dtype.
void quantize_per_tensor(const View& self, double scale, std::int64_t zero_point, Dtype, View& out) {
  const bool is_signed = out.type() == Dtype::i8;
  elementwise_of<std::uint8_t, float>(
      Quantize{static_cast<float>(scale), zero_point, is_signed ? -128 : 0, is_signed ? 127 : 255}, out,
      self);
}

void dequantize_per_tensor(const View& self, double scale, std::int64_t zero_point, View& out) {
  const Dequantize op{static_cast<float>(scale), static_cast<std::int32_t>(zero_point)};
  if (self.type() == Dtype::i8)
    elementwise_of<float, std::int8_t>(op, out, self);
  else
    elementwise_of<float, std::uint8_t>(op, out, self);
}

constexpr assay_kernel quantize_kernels[] = {
    ASSAY_CUDA(ops::quantize_per_tensor, quantize_per_tensor, nullptr),
    ASSAY_CUDA(ops::dequantize_per_tensor, dequantize_per_tensor, nullptr)};
const Enrolled quantize_enrolled{quantize_kernels};

}  // namespace
}  // namespace assay::cuda
