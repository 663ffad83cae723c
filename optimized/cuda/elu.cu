// Exponential linear unit, with expm1, so that small results keep their digits.
#include "ops/elu.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Elu {
  double negative, positive, input;  // factors
  // NaN is not below 0, and goes through a product.
  template <class C>
  __device__ C operator()(C x) const {
    if (x <= C(0)) return static_cast<C>(negative) * expm1_of(x * static_cast<C>(input));
    return x * static_cast<C>(positive);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void elu(const View& self, Scalar alpha, Scalar scale, Scalar input_scale, View& out) {
  elementwise(Elu{alpha.real * scale.real, scale.real, input_scale.real}, out, self);
}

constexpr assay_kernel elu_kernels[] = {ASSAY_CUDA(ops::elu, elu, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXPM1)};
const Enrolled elu_enrolled{elu_kernels};

}  // namespace
}  // namespace assay::cuda
