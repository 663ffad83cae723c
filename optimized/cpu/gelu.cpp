// Gaussian error linear unit and its backward: the formulas as they stand, with erf, tanh and exp of
// elementary*.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/gelu.cpp"
#include "levels.h"

#include "elementary_erf.h"
#include "elementary_tanh.h"
#include "elementwise.h"
#include "ops/gelu.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

template <class D>
HWY_INLINE hn::Vec<D> set(D d, double x) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(x));
}

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;
constexpr double kCubic = 0.044715;

// 1 + erf(x / sqrt(2)), and its form with tanh
struct OnePlusErf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Add(set(d, 1), erf(d, hn::Mul(x, set(d, kSqrtHalf))));
  }
};
template <class D, class V>
HWY_INLINE V inner_tanh(D d, V x) {
  const V cube = hn::Mul(hn::Mul(hn::Mul(set(d, kCubic), x), x), x);
  return tanh(d, hn::Mul(set(d, kSqrtTwoOverPi), hn::Add(x, cube)));
}
struct OnePlusTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Add(set(d, 1), inner_tanh(d, x));
  }
};

template <class Gate>
struct Gelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(hn::Mul(set(d, 0.5), x), Gate{}(d, x));
  }
};

struct Backward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x) const {
    const V pdf = hn::Mul(set(d, kInverseSqrtTwoPi), exp<true>(d, hn::Mul(hn::Mul(set(d, -0.5), x), x)));
    return hn::Mul(grad, hn::MulAdd(x, pdf, hn::Mul(set(d, 0.5), OnePlusErf{}(d, x))));
  }
};

struct BackwardTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x) const {
    const V t = inner_tanh(d, x);
    const V slope = hn::Mul(set(d, kSqrtTwoOverPi), hn::MulAdd(hn::Mul(set(d, 3 * kCubic), x), x, set(d, 1)));
    const V half_x = hn::Mul(set(d, 0.5), x);
    const V rise = hn::Mul(hn::Mul(half_x, hn::NegMulAdd(t, t, set(d, 1))), slope);
    return hn::Mul(grad, hn::MulAdd(set(d, 0.5), hn::Add(set(d, 1), t), rise));
  }
};

void run(const View& self, std::string_view approximate, View& out) {
  if (approximate == "none")
    elementwise(Gelu<OnePlusErf>{}, out, self);
  else
    elementwise(Gelu<OnePlusTanh>{}, out, self);
}

void backward(const View& grad_output, const View& self, std::string_view approximate, View& out) {
  if (approximate == "none")
    elementwise(Backward{}, out, grad_output, self);
  else
    elementwise(BackwardTanh{}, out, grad_output, self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::gelu, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_ERF "\n" ASSAY_CPU_TANH),
    ASSAY_CPU_LEVELS(ops::gelu_backward, backward,
                     ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXP "\n" ASSAY_CPU_ERF "\n" ASSAY_CPU_TANH)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
