// Activations: the formulas as they stand, with CUDA's functions. Compares and selects, not fmin and fmax, so that NaN stays.
#include "ops/activation.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// NaN is not below 0, and stays.
struct Relu {
  template <class C>
  __device__ C operator()(C x) const {
    return x < C(0) ? C(0) : x;
  }
  __device__ std::int64_t integers(std::int64_t x) const { return x < 0 ? 0 : x; }
};

struct LeakyRelu {
  double slope;
  template <class C>
  __device__ C operator()(C x) const {
    return x > C(0) ? x : x * static_cast<C>(slope);
  }
};

struct Hardswish {
  template <class C>
  __device__ C operator()(C x) const {
    C gate = x + C(3);
    gate = gate < C(0) ? C(0) : gate;
    gate = gate > C(6) ? C(6) : gate;
    return x * gate / C(6);
  }
};

// The logistic function, and its product with the argument. Where exp(-x) overflows they give 0; the true values there are
// subnormal, or within -3e-37 to 0 for silu in f32.
struct Sigmoid {
  template <class C>
  __device__ C operator()(C x) const {
    return C(1) / (C(1) + exp_of(-x));
  }
};

struct Silu {
  template <class C>
  __device__ C operator()(C x) const {
    return x / (C(1) + exp_of(-x));
  }
};

struct Tanh {
  template <class C>
  __device__ C operator()(C x) const {
    return tanh_of(x);
  }
};

// 1 - output^2 with a fused multiply-add.
struct TanhBackward {
  template <class C>
  __device__ C operator()(C grad, C output) const {
    return grad * fma_of(-output, output, C(1));
  }
};

struct Softplus {
  double beta, threshold;
  template <class C>
  __device__ C operator()(C x) const {
    const C scaled = x * static_cast<C>(beta);
    if (scaled > static_cast<C>(threshold)) return x;
    return log1p_of(exp_of(scaled)) / static_cast<C>(beta);
  }
};

// With expm1, so that small results keep their digits.
struct Elu {
  double negative, positive, input;  // factors
  // NaN is not below 0, and goes through a product.
  template <class C>
  __device__ C operator()(C x) const {
    if (x <= C(0)) return static_cast<C>(negative) * expm1_of(x * static_cast<C>(input));
    return x * static_cast<C>(positive);
  }
};

struct Hardsigmoid {
  template <class C>
  __device__ C operator()(C x) const {
    C gate = x + C(3);
    gate = gate < C(0) ? C(0) : gate;
    return (gate > C(6) ? C(6) : gate) / C(6);
  }
};

// tanh(log(1 + e)) is n / (n + 2) for n = e (e + 2), and rounds to 1 from e = exp(20) on.
struct Mish {
  template <class C>
  __device__ C operator()(C x) const {
    const C e = exp_of(x > C(20) ? C(20) : x), n = e * (e + C(2));
    return x * (n / (n + C(2)));
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void leaky_relu(const View& self, Scalar negative_slope, View& out) {
  elementwise(LeakyRelu{negative_slope.real}, out, self);
}

void softplus(const View& self, Scalar beta, Scalar threshold, View& out) {
  elementwise(Softplus{beta.real, threshold.real}, out, self);
}

void elu(const View& self, Scalar alpha, Scalar scale, Scalar input_scale, View& out) {
  elementwise(Elu{alpha.real * scale.real, scale.real, input_scale.real}, out, self);
}

constexpr assay_kernel activation_kernels[] = {
    ASSAY_CUDA(ops::relu, unary<Relu>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::leaky_relu, leaky_relu, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::hardswish, unary<Hardswish>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::hardsigmoid, unary<Hardsigmoid>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::mish, unary<Mish>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP),
    ASSAY_CUDA(ops::sigmoid, unary<Sigmoid>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP),
    ASSAY_CUDA(ops::silu, unary<Silu>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP),
    ASSAY_CUDA(ops::tanh, unary<Tanh>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_TANH),
    ASSAY_CUDA(ops::tanh_backward, binary<TanhBackward>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::softplus, softplus, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP "\n" ASSAY_CUDA_LOG1P),
    ASSAY_CUDA(ops::elu, elu, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXPM1)};
const Enrolled activation_enrolled{activation_kernels};

}  // namespace
}  // namespace assay::cuda
