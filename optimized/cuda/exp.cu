// Exponential function: CUDA's own, over any layout.
#include "ops/exp.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Exp {
  template <class C>
  __device__ C operator()(C x) const {
    return exp_of(x);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void exp(const View& self, View& out) { elementwise(Exp{}, out, self); }

constexpr assay_kernel exp_kernels[] = {ASSAY_CUDA(ops::exp, exp, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP)};
const Enrolled exp_enrolled{exp_kernels};

}  // namespace
}  // namespace assay::cuda
