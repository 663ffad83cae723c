// One of two numbers, as a condition says: bits are moved, nothing is computed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/where.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/where.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Where {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V condition, V self, V other) const {
    return hn::IfThenElse(hn::Ne(condition, hn::Zero(d)), self, other);
  }
  HWY_INLINE std::int64_t integers(std::int64_t condition, std::int64_t self, std::int64_t other) const {
    return condition != 0 ? self : other;
  }
};

void run(const View& condition, const View& self, const View& other, View& out) {
  elementwise(Where{}, out, condition, self, other);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::where_self, run, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
