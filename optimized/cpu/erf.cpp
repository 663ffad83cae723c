// Error function: elementary_erf.h over any layout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/erf.cpp"
#include "levels.h"

#include "elementary_erf.h"
#include "elementwise.h"
#include "ops/erf.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Erf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return erf(d, x);
  }
};

void run(const View& self, View& out) { elementwise(Erf{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::erf, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_ERF)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
