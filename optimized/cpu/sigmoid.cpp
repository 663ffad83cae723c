// The logistic function, and its product with the argument (silu): the formulas as they stand. Where exp(-x)
// overflows they give 0; the true values there are subnormal, or within -3e-37 to 0 for silu in f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sigmoid.cpp"
#include "levels.h"

#include "elementary.h"
#include "elementwise.h"
#include "ops/sigmoid.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

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

void sigmoid(const View& self, View& out) { elementwise(Sigmoid{}, out, self); }
void silu(const View& self, View& out) { elementwise(Silu{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::sigmoid, sigmoid, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXP),
    ASSAY_CPU_LEVELS(ops::silu, silu, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXP)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
