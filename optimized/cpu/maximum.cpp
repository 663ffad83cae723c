// The larger of two numbers: a compare and a select give the second one where either is NaN, which is wrong only
// where the first is; of two equal numbers only zeros differ, in a sign that AND settles.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/maximum.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/maximum.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Maximum {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V self, V other) const {
    const V larger = hn::IfThenElse(hn::Gt(self, other), self, other);
    const V ordered = hn::IfThenElse(hn::Eq(self, other), hn::And(self, other), larger);
    return hn::IfThenElse(hn::IsNaN(self), self, ordered);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return HWY_MAX(self, other);
  }
};

void run(const View& self, const View& other, View& out) { elementwise(Maximum{}, out, self, other); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::maximum, run, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
