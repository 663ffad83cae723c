// Softplus: the formula as it stands, with CUDA's log1p and exp.
#include "ops/softplus.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Softplus {
  double beta, threshold;
  template <class C>
  __device__ C operator()(C x) const {
    const C scaled = x * static_cast<C>(beta);
    if (scaled > static_cast<C>(threshold)) return x;
    return log1p_of(exp_of(scaled)) / static_cast<C>(beta);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void softplus(const View& self, Scalar beta, Scalar threshold, View& out) {
  elementwise(Softplus{beta.real, threshold.real}, out, self);
}

constexpr assay_kernel softplus_kernels[] = {
    ASSAY_CUDA(ops::softplus, softplus, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP "\n" ASSAY_CUDA_LOG1P)};
const Enrolled softplus_enrolled{softplus_kernels};

}  // namespace
}  // namespace assay::cuda
