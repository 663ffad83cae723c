// Error function: CUDA's own, over any layout.
#include "ops/erf.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Erf {
  template <class C>
  __device__ C operator()(C x) const {
    return erf_of(x);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void erf(const View& self, View& out) { elementwise(Erf{}, out, self); }

constexpr assay_kernel erf_kernels[] = {ASSAY_CUDA(ops::erf, erf, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ERF)};
const Enrolled erf_enrolled{erf_kernels};

}  // namespace
}  // namespace assay::cuda
