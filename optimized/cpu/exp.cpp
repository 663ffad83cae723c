// Exponential function: elementary.h over any layout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/exp.cpp"
#include "levels.h"

#include "elementary.h"
#include "elementwise.h"
#include "ops/exp.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp(d, x);
  }
};

void run(const View& self, View& out) { elementwise(Exp{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::exp, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXP)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
