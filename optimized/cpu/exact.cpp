// Exact functions of one number: an instruction or two, over any layout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/exact.cpp"
#include "levels.h"

#include "../geometry/wrap.h"
#include "elementwise.h"
#include "ops/exact.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Abs {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Abs(x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return x < 0 ? wrapping_multiply(-1, x) : x; }
};

struct Neg {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Neg(x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return wrapping_multiply(-1, x); }
};

struct Sign {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, hn::TFromD<D>{1});
    return hn::Sub(hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one),
                   hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), one));
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return (x > 0) - (x < 0); }
};

// Zeros keep the sign of x, which Highway's functions for SSE2 lose.
struct Floor {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::CopySign(hn::Floor(x), x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return x; }
};

struct Ceil {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::CopySign(hn::Ceil(x), x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return x; }
};

struct Trunc {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::CopySign(hn::Trunc(x), x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return x; }
};

struct Round {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::CopySign(hn::Round(x), x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return x; }
};

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_UNARY(ops::abs, Abs),    ASSAY_CPU_UNARY(ops::neg, Neg),
                                    ASSAY_CPU_UNARY(ops::sign, Sign),  ASSAY_CPU_UNARY(ops::floor, Floor),
                                    ASSAY_CPU_UNARY(ops::ceil, Ceil),  ASSAY_CPU_UNARY(ops::trunc, Trunc),
                                    ASSAY_CPU_UNARY(ops::round, Round)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
