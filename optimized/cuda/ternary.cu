// Arithmetic of three tensors, over any layout and broadcasting.
#include "ops/ternary.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Addcmul {
  double value;
  std::int64_t integer;
  template <class C>
  __device__ C operator()(C self, C a, C b) const {
    return fma_of(static_cast<C>(value) * a, b, self);
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t a, std::int64_t b) const {
    return wrapping_add(self, wrapping_multiply(integer, wrapping_multiply(a, b)));
  }
};

struct Addcdiv {
  double value;
  template <class C>
  __device__ C operator()(C self, C a, C b) const {
    return self + static_cast<C>(value) * a / b;
  }
};

// From the nearer end, so that weights 0 and 1 give the ends themselves.
struct Lerp {
  template <class C>
  __device__ C operator()(C self, C end, C weight) const {
    const C way = end - self;
    return abs_of(weight) < C(0.5) ? fma_of(weight, way, self) : fma_of(-way, C(1) - weight, end);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void addcmul(const View& self, const View& tensor1, const View& tensor2, Scalar value, View& out) {
  elementwise(Addcmul{value.real, value.integer}, out, self, tensor1, tensor2);
}
void addcdiv(const View& self, const View& tensor1, const View& tensor2, Scalar value, View& out) {
  elementwise(Addcdiv{value.real}, out, self, tensor1, tensor2);
}
void lerp(const View& self, const View& end, const View& weight, View& out) {
  elementwise(Lerp{}, out, self, end, weight);
}

constexpr assay_kernel ternary_kernels[] = {ASSAY_CUDA(ops::addcmul, addcmul, ASSAY_CUDA_IN_PLACE),
                                            ASSAY_CUDA(ops::addcdiv, addcdiv, ASSAY_CUDA_IN_PLACE),
                                            ASSAY_CUDA(ops::lerp_tensor, lerp, ASSAY_CUDA_IN_PLACE)};
const Enrolled ternary_enrolled{ternary_kernels};

}  // namespace
}  // namespace assay::cuda
