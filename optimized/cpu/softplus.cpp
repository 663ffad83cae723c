// Softplus: the formula as it stands, with log1p of elementary_log.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/softplus.cpp"
#include "levels.h"

#include "elementary.h"
#include "elementary_log.h"
#include "elementwise.h"
#include "ops/softplus.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

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

void run(const View& self, Scalar beta, Scalar threshold, View& out) {
  elementwise(Softplus{beta.real, threshold.real}, out, self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::softplus, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXP "\n" ASSAY_CPU_LOG1P)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
