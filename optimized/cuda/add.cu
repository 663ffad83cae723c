// Addition and subtraction of tensors, with a factor.
//
// The idea: a difference is a sum with -alpha, to the bit. alpha is rounded once to what is computed in, then
// one fused multiply-add an element.
#include "ops/add.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Add {
  double alpha;
  std::int64_t integer;
  template <class C>
  __device__ C operator()(C self, C other) const {
    return fma_of(static_cast<C>(alpha), other, self);
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_add(self, wrapping_multiply(integer, other));
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void add(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{alpha.real, alpha.integer}, out, self, other);
}
void sub(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{-alpha.real, wrapping_multiply(-1, alpha.integer)}, out, self, other);
}

constexpr assay_kernel add_kernels[] = {ASSAY_CUDA(ops::add_tensor, add, ASSAY_CUDA_IN_PLACE),
                                        ASSAY_CUDA(ops::sub_tensor, sub, ASSAY_CUDA_IN_PLACE)};
const Enrolled add_enrolled{add_kernels};

}  // namespace
}  // namespace assay::cuda
