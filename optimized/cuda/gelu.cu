// Gaussian error linear unit and its backward: the formulas as they stand, with CUDA's erf, tanh and exp.
#include "ops/gelu.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr double kGeluSqrtHalf = 0.70710678118654752440;
inline constexpr double kGeluSqrtTwoOverPi = 0.79788456080286535588;
inline constexpr double kGeluInverseSqrtTwoPi = 0.39894228040143267794;
inline constexpr double kGeluCubic = 0.044715;

// 1 + erf(x / sqrt(2))
template <class C>
__device__ __forceinline__ C gelu_one_plus_erf(C x) {
  return C(1) + erf_of(x * C(kGeluSqrtHalf));
}
template <class C>
__device__ __forceinline__ C gelu_inner_tanh(C x) {
  const C cube = C(kGeluCubic) * x * x * x;
  return tanh_of(C(kGeluSqrtTwoOverPi) * (x + cube));
}

struct Gelu {
  template <class C>
  __device__ C operator()(C x) const {
    return C(0.5) * x * gelu_one_plus_erf(x);
  }
};

struct GeluTanh {
  template <class C>
  __device__ C operator()(C x) const {
    return C(0.5) * x * (C(1) + gelu_inner_tanh(x));
  }
};

struct GeluBackward {
  template <class C>
  __device__ C operator()(C grad, C x) const {
    const C pdf = C(kGeluInverseSqrtTwoPi) * exp_of(C(-0.5) * x * x);
    return grad * fma_of(x, pdf, C(0.5) * gelu_one_plus_erf(x));
  }
};

struct GeluTanhBackward {
  template <class C>
  __device__ C operator()(C grad, C x) const {
    const C t = gelu_inner_tanh(x);
    const C slope = C(kGeluSqrtTwoOverPi) * fma_of(C(3 * kGeluCubic) * x, x, C(1));
    const C rise = C(0.5) * x * fma_of(-t, t, C(1)) * slope;
    return grad * fma_of(C(0.5), C(1) + t, rise);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void gelu(const View& self, std::string_view approximate, View& out) {
  if (approximate == "none")
    elementwise(Gelu{}, out, self);
  else
    elementwise(GeluTanh{}, out, self);
}

void gelu_backward(const View& grad_output, const View& self, std::string_view approximate, View& out) {
  if (approximate == "none")
    elementwise(GeluBackward{}, out, grad_output, self);
  else
    elementwise(GeluTanhBackward{}, out, grad_output, self);
}

constexpr assay_kernel gelu_kernels[] = {
    ASSAY_CUDA(ops::gelu, gelu, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ERF "\n" ASSAY_CUDA_TANH),
    ASSAY_CUDA(ops::gelu_backward, gelu_backward,
               ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP "\n" ASSAY_CUDA_ERF "\n" ASSAY_CUDA_TANH)};
const Enrolled gelu_enrolled{gelu_kernels};

}  // namespace
}  // namespace assay::cuda
