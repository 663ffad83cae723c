// Square root, and its reciprocal: the hardware's root and division, each rounded once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sqrt.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/sqrt.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Sqrt {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};

struct Rsqrt {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Sqrt(x));
  }
};

void sqrt(const View& self, View& out) { elementwise(Sqrt{}, out, self); }
void rsqrt(const View& self, View& out) { elementwise(Rsqrt{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::sqrt, sqrt, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::rsqrt, rsqrt, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
