// Arc cosine: CUDA's own, over any layout.
#include "ops/acos.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Acos {
  template <class C>
  __device__ C operator()(C x) const {
    return acos_of(x);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void acos(const View& self, View& out) { elementwise(Acos{}, out, self); }

constexpr assay_kernel acos_kernels[] = {
    ASSAY_CUDA(ops::acos, acos, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ACOS)};
const Enrolled acos_enrolled{acos_kernels};

}  // namespace
}  // namespace assay::cuda
