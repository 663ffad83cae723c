// Activations: the formulas as they stand, with the functions of elementary*.h, over any layout. Compares and selects, not
// Min and Max, so that NaN and -0 pass through as they are.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/activation.cpp"
#include "levels.h"

#include "elementary.h"
#include "elementary_log.h"
#include "elementary_tanh.h"
#include "elementwise.h"
#include "ops/activation.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Relu {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return HWY_MAX(x, 0); }
};

struct LeakyRelu {
  static constexpr bool cheap = true;
  double slope;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V sloped = hn::Mul(x, hn::Set(d, static_cast<hn::TFromD<D>>(slope)));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, sloped);
  }
};

void leaky_relu(const View& self, Scalar negative_slope, View& out) {
  elementwise(LeakyRelu{negative_slope.real}, out, self);
}

struct Hardswish {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V six = hn::Set(d, T{6});
    V gate = hn::Add(x, hn::Set(d, T{3}));
    gate = hn::IfThenElse(hn::Lt(gate, hn::Zero(d)), hn::Zero(d), gate);
    gate = hn::IfThenElse(hn::Gt(gate, six), six, gate);
    return hn::Div(hn::Mul(x, gate), six);
  }
};

struct Hardsigmoid {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V six = hn::Set(d, hn::TFromD<D>{6});
    V gate = hn::Add(x, hn::Set(d, hn::TFromD<D>{3}));
    gate = hn::IfThenElse(hn::Lt(gate, hn::Zero(d)), hn::Zero(d), gate);
    return hn::Div(hn::IfThenElse(hn::Gt(gate, six), six, gate), six);
  }
};

// tanh(log(1 + e)) is n / (n + 2) for n = e (e + 2), and rounds to 1 from e = exp(20) on.
struct Mish {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V highest = hn::Set(d, T{20}), two = hn::Set(d, T{2});
    const V e = exp(d, hn::IfThenElse(hn::Gt(x, highest), highest, x)), n = hn::Mul(e, hn::Add(e, two));
    return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
  }
};

// The logistic function, and its product with the argument. Where exp(-x) overflows they give 0; the true values there are
// subnormal, or within -3e-37 to 0 for silu in f32.

// 1 + exp(-x)
template <class D, class V>
HWY_INLINE V divisor(D d, V x) {
  return hn::Add(hn::Set(d, hn::TFromD<D>{1}), exp(d, hn::Neg(x)));
}

struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), divisor(d, x));
  }
};

struct Silu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(x, divisor(d, x));
  }
};

struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return tanh(d, x);
  }
};

// 1 - output^2 with a fused multiply-add.
struct TanhBackward {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V output) const {
    return hn::Mul(grad, hn::NegMulAdd(output, output, hn::Set(d, hn::TFromD<D>{1})));
  }
};

struct Softplus {
  double beta, threshold;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V b = hn::Set(d, static_cast<hn::TFromD<D>>(beta));
    const V t = hn::Mul(x, b);
    const V smooth = hn::Div(log1p(d, exp(d, t)), b);
    return hn::IfThenElse(hn::Gt(t, hn::Set(d, static_cast<hn::TFromD<D>>(threshold))), x, smooth);
  }
};

void softplus(const View& self, Scalar beta, Scalar threshold, View& out) {
  elementwise(Softplus{beta.real, threshold.real}, out, self);
}

// With expm1, so that small results keep their digits.
struct Elu {
  double negative, positive, input;  // factors
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const auto set = [&](double factor) HWY_ATTR { return hn::Set(d, static_cast<hn::TFromD<D>>(factor)); };
    const V below = hn::Mul(set(negative), expm1(d, hn::Mul(x, set(input))));
    return hn::IfThenElse(hn::Le(x, hn::Zero(d)), below, hn::Mul(x, set(positive)));
  }
};

void elu(const View& self, Scalar alpha, Scalar scale, Scalar input_scale, View& out) {
  elementwise(Elu{alpha.real * scale.real, scale.real, input_scale.real}, out, self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_UNARY(ops::relu, Relu),
    ASSAY_CPU_LEVELS(ops::leaky_relu, leaky_relu, ASSAY_CPU_IN_PLACE),
    ASSAY_CPU_UNARY(ops::hardswish, Hardswish),
    ASSAY_CPU_UNARY(ops::hardsigmoid, Hardsigmoid),
    ASSAY_CPU_UNARY(ops::mish, Mish, ASSAY_CPU_EXP),
    ASSAY_CPU_UNARY(ops::sigmoid, Sigmoid, ASSAY_CPU_EXP),
    ASSAY_CPU_UNARY(ops::silu, Silu, ASSAY_CPU_EXP),
    ASSAY_CPU_UNARY(ops::tanh, Tanh, ASSAY_CPU_TANH),
    ASSAY_CPU_BINARY(ops::tanh_backward, TanhBackward),
    ASSAY_CPU_LEVELS(ops::softplus, softplus, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXP "\n" ASSAY_CPU_LOG1P),
    ASSAY_CPU_LEVELS(ops::elu, elu, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXPM1)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
