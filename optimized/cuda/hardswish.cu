// Hard swish: the formula as it stands. Selects, not fmin and fmax, so that NaN stays.
#include "ops/hardswish.h"

#include "contracts.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Hardswish {
  template <class C>
  __device__ C operator()(C x) const {
    C gate = x + C(3);
    gate = gate < C(0) ? C(0) : gate;
    gate = gate > C(6) ? C(6) : gate;
    return x * gate / C(6);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void hardswish(const View& self, View& out) { elementwise(Hardswish{}, out, self); }

constexpr assay_kernel hardswish_kernels[] = {ASSAY_CUDA(ops::hardswish, hardswish, ASSAY_CUDA_IN_PLACE)};
const Enrolled hardswish_enrolled{hardswish_kernels};

}  // namespace
}  // namespace assay::cuda
