// Natural logarithm: elementary_log.h over any layout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/log.cpp"
#include "levels.h"

#include "elementary_log.h"
#include "elementwise.h"
#include "ops/log.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log(d, x);
  }
};

void run(const View& self, View& out) { elementwise(Log{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::log, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_LOG)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
