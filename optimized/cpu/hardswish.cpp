// Hard swish: the formula as it stands. Selects, not Min and Max, so that NaN stays.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/hardswish.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/hardswish.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

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

void run(const View& self, View& out) { elementwise(Hardswish{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::hardswish, run, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
