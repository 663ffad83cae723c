// Arithmetic of two tensors. Operands of other dtypes are first converted to the result's, as ATen promotes them. Any layout
// and broadcasting (elementwise.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/binary.cpp"
#include "levels.h"

#include "../geometry/wrap.h"
#include "elementary_powers.h"
#include "elementwise.h"
#include "ops/binary.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

// A difference is a sum with -alpha, to the bit. alpha is rounded once to the compute type, then one fused multiply-add an
// element (cpu.baseline: a product and a sum, two roundings). With alpha = 1 both are the correctly rounded sum.
struct Add {
  static constexpr bool cheap = true;
  double alpha;
  std::int64_t integer;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V other) const {
    return hn::MulAdd(hn::Set(d, static_cast<hn::TFromD<D>>(alpha)), other, self);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_add(self, wrapping_multiply(integer, other));
  }
};

void add(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{alpha.real, alpha.integer}, out, self, other);
}

void sub(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{-alpha.real, wrapping_multiply(-1, alpha.integer)}, out, self, other);
}

struct Mul {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V self, V other) const {
    return hn::Mul(self, other);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_multiply(self, other);
  }
};

struct Div {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V self, V other) const {
    return hn::Div(self, other);
  }
};

struct DivTrunc {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V self, V other) const {
    const V quotient = hn::Div(self, other);
    return hn::CopySign(hn::Trunc(quotient), quotient);  // Highway's f64 Trunc for SSE2 takes -0.5 to +0
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_divide(self, other);
  }
};

// The floor of the rounded quotient, and one less where that was rounded up to an integer: where self - floor * other, which
// a fused multiply-add gives the right sign, is beyond 0 on the side away from other. As in Python, 1.0 // 0.1 is 9 and
// not 10.
struct DivFloor {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V other) const {
    const V zero = hn::Zero(d), quotient = hn::Div(self, other);
    const V floor = hn::CopySign(hn::Floor(quotient), quotient);
    const V rest = hn::NegMulAdd(floor, other, self);
    // 0 * infinity has no sign to compare: there it is that of self.
    const V left = hn::IfThenElse(hn::IsInf(other), self, rest);
    const auto opposite = hn::Or(hn::And(hn::Lt(left, zero), hn::Gt(other, zero)),
                                 hn::And(hn::Gt(left, zero), hn::Lt(other, zero)));
    const V least = hn::IfThenElse(hn::IsInf(other), hn::Set(d, hn::TFromD<D>(-1)),
                                   hn::Sub(floor, hn::Set(d, hn::TFromD<D>(1))));
    const V finite = hn::IfThenElse(hn::And(opposite, hn::IsFinite(floor)), least, floor);
    const V of_infinity = hn::IfThenElse(hn::IsInf(self), hn::NaN(d), finite);
    return hn::IfThenElse(hn::Eq(other, zero), quotient, of_infinity);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    const std::int64_t quotient = wrapping_divide(self, other);
    const bool above = wrapping_multiply(quotient, other) != self && (self < 0) != (other < 0);
    return above ? quotient - 1 : quotient;
  }
};

void div_mode(const View& self, const View& other, std::optional<std::string_view> rounding_mode, View& out) {
  if (!rounding_mode) return elementwise(Div{}, out, self, other);
  if (*rounding_mode == "trunc") return elementwise(DivTrunc{}, out, self, other);
  elementwise(DivFloor{}, out, self, other);
}

// A compare and a select give the second one where either is NaN, which is wrong only where the first is; of two equal
// numbers only zeros differ, in a sign that AND settles.
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

// As Maximum, with OR for zeros.
struct Minimum {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V self, V other) const {
    const V smaller = hn::IfThenElse(hn::Lt(self, other), self, other);
    const V ordered = hn::IfThenElse(hn::Eq(self, other), hn::Or(self, other), smaller);
    return hn::IfThenElse(hn::IsNaN(self), self, ordered);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return HWY_MIN(self, other);
  }
};

struct Fmod {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V other) const {
    return fmod(d, self, other);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_rest(self, other);
  }
};

// Where the signs differ, other more, rounded once.
struct Remainder {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V other) const {
    const V r = fmod(d, self, other), zero = hn::Zero(d);
    const auto opposite =
        hn::Or(hn::And(hn::Lt(r, zero), hn::Gt(other, zero)), hn::And(hn::Gt(r, zero), hn::Lt(other, zero)));
    return hn::IfThenElse(opposite, hn::Add(r, other), r);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    const std::int64_t r = wrapping_rest(self, other);
    return r != 0 && (r < 0) != (other < 0) ? wrapping_add(r, other) : r;
  }
};

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::add_tensor, add, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::sub_tensor, sub, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_BINARY(ops::mul_tensor, Mul),
                                    ASSAY_CPU_BINARY(ops::div_tensor, Div),
                                    ASSAY_CPU_LEVELS(ops::div_tensor_mode, div_mode, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_BINARY(ops::maximum, Maximum),
                                    ASSAY_CPU_BINARY(ops::minimum, Minimum),
                                    ASSAY_CPU_BINARY(ops::fmod_tensor, Fmod),
                                    ASSAY_CPU_BINARY(ops::remainder_tensor, Remainder)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
