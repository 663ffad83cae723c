// Square root, and its reciprocal: a root and a division, each rounded once, and not rsqrt(), which errs by
// more.
#include "ops/sqrt.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Sqrt {
  template <class C>
  __device__ C operator()(C x) const {
    return sqrt_of(x);
  }
};

struct Rsqrt {
  template <class C>
  __device__ C operator()(C x) const {
    return C(1) / sqrt_of(x);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void sqrt(const View& self, View& out) { elementwise(Sqrt{}, out, self); }
void rsqrt(const View& self, View& out) { elementwise(Rsqrt{}, out, self); }

constexpr assay_kernel sqrt_kernels[] = {ASSAY_CUDA(ops::sqrt, sqrt, ASSAY_CUDA_IN_PLACE),
                                         ASSAY_CUDA(ops::rsqrt, rsqrt, ASSAY_CUDA_IN_PLACE)};
const Enrolled sqrt_enrolled{sqrt_kernels};

}  // namespace
}  // namespace assay::cuda
