// Multiplication of tensors: one product, rounded once.
#include "ops/mul.h"

#include "contracts.h"
#include "elementwise.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Mul {
  template <class C>
  __device__ C operator()(C self, C other) const {
    return self * other;
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_multiply(self, other);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void mul(const View& self, const View& other, View& out) { elementwise(Mul{}, out, self, other); }

constexpr assay_kernel mul_kernels[] = {ASSAY_CUDA(ops::mul_tensor, mul, ASSAY_CUDA_IN_PLACE)};
const Enrolled mul_enrolled{mul_kernels};

}  // namespace
}  // namespace assay::cuda
