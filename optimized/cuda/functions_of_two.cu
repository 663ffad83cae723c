// Functions of two numbers, over any layout.
#include "ops/functions_of_two.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Pow {
  template <class C>
  __device__ C operator()(C self, C exponent) const {
    return pow_of(self, exponent);
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t exponent) const {
    return wrapping_power(self, exponent);
  }
};

// The square is a product, to the bit.
struct PowOf {
  double exponent;
  template <class C>
  __device__ C operator()(C x) const {
    return exponent == 2 ? x * x : pow_of(x, static_cast<C>(exponent));
  }
};
struct ToThePower {
  double base;
  template <class C>
  __device__ C operator()(C exponent) const {
    return pow_of(static_cast<C>(base), exponent);
  }
};

struct Atan2 {
  template <class C>
  __device__ C operator()(C self, C other) const {
    return atan2_of(self, other);
  }
};

struct Xlogy {
  template <class C>
  __device__ C operator()(C self, C other) const {
    if (is_nan(other)) return other;
    return self == C(0) ? C(0) : self * log_of(other);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void pow_scalar_exponent(const View& self, Scalar exponent, View& out) {
  elementwise(PowOf{exponent.real}, out, self);
}
void pow_scalar_base(Scalar self, const View& exponent, View& out) {
  elementwise(ToThePower{self.real}, out, exponent);
}

constexpr assay_kernel functions_of_two_kernels[] = {
    ASSAY_CUDA(ops::pow_tensor_tensor, binary<Pow>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_POW),
    ASSAY_CUDA(ops::pow_tensor_scalar, pow_scalar_exponent, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_POW),
    ASSAY_CUDA(ops::pow_scalar, pow_scalar_base, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_POW),
    ASSAY_CUDA(ops::atan2, binary<Atan2>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ATAN2),
    ASSAY_CUDA(ops::xlogy_tensor, binary<Xlogy>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_LOG)};
const Enrolled functions_of_two_enrolled{functions_of_two_kernels};

}  // namespace
}  // namespace assay::cuda
