// Arc cosine: elementary_acos.h over any layout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/acos.cpp"
#include "levels.h"

#include "elementary_acos.h"
#include "elementwise.h"
#include "ops/acos.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Acos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return acos(d, x);
  }
};

void run(const View& self, View& out) { elementwise(Acos{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::acos, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_ACOS)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
