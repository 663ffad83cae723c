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

// The mask is bool, and has 0 and 1 in any type.
struct MaskedFill {
  static constexpr bool cheap = true;
  double value;
  std::int64_t integer;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V mask) const {
    return hn::IfThenElse(hn::Ne(mask, hn::Zero(d)), hn::Set(d, static_cast<hn::TFromD<D>>(value)), self);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t mask) const {
    return mask != 0 ? integer : self;
  }
};

void masked_fill(const View& self, const View& mask, Scalar value, View& out) {
  elementwise(MaskedFill{value.real, value.integer}, out, self, mask);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::where_self, run, nullptr),
    ASSAY_CPU_LEVELS(ops::masked_fill_scalar, masked_fill, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
