// The logistic function, and its product with the argument (silu): the formulas as they stand. Where exp(-x)
// overflows they give 0; the true values there are subnormal, or within -3e-37 to 0 for silu in f32.
#include "ops/sigmoid.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Sigmoid {
  template <class C>
  __device__ C operator()(C x) const {
    return C(1) / (C(1) + exp_of(-x));
  }
};

struct Silu {
  template <class C>
  __device__ C operator()(C x) const {
    return x / (C(1) + exp_of(-x));
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void sigmoid(const View& self, View& out) { elementwise(Sigmoid{}, out, self); }
void silu(const View& self, View& out) { elementwise(Silu{}, out, self); }

constexpr assay_kernel sigmoid_kernels[] = {
    ASSAY_CUDA(ops::sigmoid, sigmoid, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP),
    ASSAY_CUDA(ops::silu, silu, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP)};
const Enrolled sigmoid_enrolled{sigmoid_kernels};

}  // namespace
}  // namespace assay::cuda
