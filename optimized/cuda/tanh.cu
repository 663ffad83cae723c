// Hyperbolic tangent: CUDA's own, over any layout. Its backward is the formula, 1 - output^2 with a fused
// multiply-add.
#include "ops/tanh.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Tanh {
  template <class C>
  __device__ C operator()(C x) const {
    return tanh_of(x);
  }
};

struct TanhBackward {
  template <class C>
  __device__ C operator()(C grad, C output) const {
    return grad * fma_of(-output, output, C(1));
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void tanh(const View& self, View& out) { elementwise(Tanh{}, out, self); }
void tanh_backward(const View& grad_output, const View& output, View& out) {
  elementwise(TanhBackward{}, out, grad_output, output);
}

constexpr assay_kernel tanh_kernels[] = {
    ASSAY_CUDA(ops::tanh, tanh, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_TANH),
    ASSAY_CUDA(ops::tanh_backward, tanh_backward, ASSAY_CUDA_IN_PLACE)};
const Enrolled tanh_enrolled{tanh_kernels};

}  // namespace
}  // namespace assay::cuda
