// Tracked: a number with the set of values that a conforming kernel may hold in its place. README.md proves the rules.
//
// The set is every finite x with |x - value| <= error (nothing, if `value` itself is NaN or infinite: then just that),
// and what `may_be` adds. A Tracked is closed, when x is a number that the kernel has in its compute format; or a
// rounding is still pending, when x is what the kernel rounds to get its number; or it is an open sum of several
// terms, which the kernel adds in any order, with any fused multiply-adds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "arithmetic.h"
#include "carrier.h"
#include "reference.h"
#include "tri.h"

namespace assay {

enum MayBe : std::uint8_t {
  kMayBeNan = 1,
  kMayBePositiveInfinity = 2,
  kMayBeNegativeInfinity = 4,
  kMayBeAll = 7
};

inline constexpr int kEveryGrid = 1 << 24;  // of zero
inline constexpr int kNoGrid = -(1 << 24);

template <class V>
struct Tracked {
  using Bound = typename Carrier<V>::Bound;

  V value{};
  Bound error = 0;          // inherited, and the reference's own; infinite: any finite number
  Bound magnitude = 0;      // sum of |term| over the terms of the open sum; |value| if there is only one
  double terms = 1;         // of the open sum, zeros not counted unless the contract's chain depends on them
  int grid = kEveryGrid;    // 2^grid divides every term exactly; kNoGrid if error != 0
  std::uint8_t may_be = 0;  // MayBe
  bool pending = false;     // a rounding to the compute format comes next, unless it is fused away
  bool summed = false;      // made by sum(): it has passed through the accumulator
  bool free_sign = false;   // if this is a zero, its sign is not decided

  Tracked() = default;
  // A literal of the formula or an argument of the call, with what is lost if the kernel holds it in its compute format.
  explicit Tracked(double literal);
  template <class Integer>
  requires std::is_integral_v<Integer>
  explicit Tracked(Integer literal) : Tracked(static_cast<double>(literal)) {}

  // A number that every kernel has exactly.
  static Tracked exact(const V& v) {
    Tracked t;
    t.value = v;
    if (Carrier<V>::finite(v)) {
      t.magnitude = Carrier<V>::size(v);
      if (t.magnitude != 0) t.grid = Carrier<V>::grid(v);
    }
    return t;
  }
  // The reference says v, but anything at all is admitted.
  static Tracked anything(const V& v) {
    Tracked t;
    t.value = v;
    t.error = std::numeric_limits<Bound>::infinity();
    if (Carrier<V>::finite(v)) t.magnitude = Carrier<V>::size(v);
    t.grid = kNoGrid;
    t.may_be = kMayBeAll;
    t.free_sign = true;
    return t;
  }

  bool is_exact_zero() const {
    return magnitude == 0 && error == 0 && may_be == 0 && Carrier<V>::finite(value);
  }
  // Of the value, should it be a zero; else whether the set has numbers of one sign only.
  bool sign_known() const { return !free_sign && (error == 0 || Carrier<V>::size(value) > error); }
};

namespace detail {

// Errors are sums and products of a few rounded terms: this covers the roundings of one rule.
template <class Bound>
Bound inflate(Bound error) {
  return error * (Bound(1) + Bound(0x1p-48));
}

// Whether a number on this grid is one of the format, or too large for it.
template <class V>
bool representable(const V& value, int grid, const Rounding& in) {
  return grid >= in.grid && Carrier<V>::exponent(value) < grid + in.format.precision;
}

// How near to a number of the format a number must be, as a share of half a unit in the last place, for Tracked to
// take note that it is rounded to that one.
inline constexpr double kNearby = 0x1p-20;

// What one rounding to the format adds to the error of a number that is not known to be representable.
template <class V>
typename Tracked<V>::Bound rounding_error(const Tracked<V>& t, typename Tracked<V>::Bound size,
                                          const Rounding& to) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const auto least = static_cast<Bound>(to.half_subnormal);
  const Bound half_unit = std::max(static_cast<Bound>(to.format.unit) * size, least);
  if (size < least) return std::max(C::size(t.value) - t.error, Bound(0));  // becomes zero
  const bool near = t.error < Bound(kNearby) * half_unit;
  const bool zero = t.value == V{};
  if (near && t.error != 0 && (zero || representable(t.value, C::grid(t.value), to)))
    return 0;  // becomes `value`
  return half_unit;
}

// One rounding of a closed number to a format.
template <class V>
void round_once(Tracked<V>& t, const Rounding& to) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  t.pending = false;
  if (!C::finite(t.value)) return;
  const Bound size = C::size(t.value) + t.error;
  if (t.error != 0 || !representable(t.value, t.grid, to)) {
    t.error = inflate(t.error + rounding_error(t, size, to));
    t.grid = kNoGrid;
  }
  if (size >= static_cast<Bound>(to.overflow)) {
    const bool negative = C::negative(t.value);
    t.may_be |= negative ? kMayBeNegativeInfinity : kMayBePositiveInfinity;
    if (t.error - C::size(t.value) >= static_cast<Bound>(to.overflow))
      t.may_be |= kMayBePositiveInfinity | kMayBeNegativeInfinity;
  }
  if (arithmetic().flushes && C::size(t.value) - t.error < static_cast<Bound>(to.format.min_normal) &&
      !t.is_exact_zero()) {
    t.error += static_cast<Bound>(to.format.min_normal);
    t.grid = kNoGrid;
  }
}

// Whether the kernel may hold a zero.
template <class V>
bool may_be_zero(const Tracked<V>& t) {
  using Bound = typename Tracked<V>::Bound;
  return Carrier<V>::size(t.value) <= t.error + static_cast<Bound>(arithmetic().compute.format.min_normal);
}

template <class V>
Tracked<V> nonfinite_product(const Tracked<V>& a, const Tracked<V>& b);

// Of closed numbers whose product is finite.
template <class V>
Tracked<V> product(const Tracked<V>& a, const Tracked<V>& b, const V& value) {
  using C = Carrier<V>;
  Tracked<V> r;
  r.value = value;
  r.magnitude = C::size(value);
  r.pending = true;
  if (a.error == 0 && b.error == 0) {
    r.grid = std::min(a.grid + b.grid, kEveryGrid);
    if (r.grid < C::kLeastGrid || C::exponent(value) - r.grid >= C::kBits) {
      r.error = inflate(r.magnitude * C::kUnit) + C::kLeast;
      r.grid = kNoGrid;
    }
  } else if (!a.is_exact_zero() && !b.is_exact_zero()) {
    r.error = inflate(C::size(a.value) * b.error + C::size(b.value) * a.error + a.error * b.error +
                      r.magnitude * C::kUnit) +
              C::kLeast;
    r.grid = kNoGrid;
  }
  if (may_be_zero(r)) r.free_sign = !a.sign_known() || !b.sign_known();
  return r;
}

}  // namespace detail

}  // namespace assay

// Open sums of Tracked terms: what a kernel may make of them by adding in any order, and with which error.
// Included by tracked.h, which declares Tracked and the rounding of one number.
namespace assay {

namespace detail {

// A term as a sum takes it: its own rounding charged (a fused multiply-add leaves it out), open sums left open.
template <class V>
void settle(Tracked<V>& t) {
  const Rounding& compute = arithmetic().compute;
  if (t.terms >= 2) return;
  if (t.pending) {
    round_once(t, compute);
  } else if (t.error == 0 && t.grid < compute.grid) {
    // Not a number of the compute format, so that adding it may round in the subnormal range, where sums of numbers of
    // the format are exact.
    t.error = static_cast<typename Tracked<V>::Bound>(compute.half_subnormal);
    t.grid = kNoGrid;
  }
}

// infinities and NaN of a + b where either may be one
template <class V>
void add_nonfinite(Tracked<V>& sum, const Tracked<V>& a, const Tracked<V>& b);

// Of settled terms, neither of them an exact zero.
template <class V>
void add_settled(Tracked<V>& sum, const Tracked<V>& b) {
  using C = Carrier<V>;
  const V value = sum.value + b.value;
  if ((sum.may_be | b.may_be) != 0 || !C::finite(value)) return add_nonfinite(sum, Tracked<V>(sum), b);
  sum.error += b.error;
  if (sum.grid == kNoGrid || b.grid == kNoGrid || C::exponent(value) - std::min(sum.grid, b.grid) >= C::kBits)
    sum.error += C::residual(sum.value, b.value, value);
  sum.magnitude += b.magnitude;
  sum.terms += b.terms;
  sum.grid = sum.error == 0 ? std::min(sum.grid, b.grid) : kNoGrid;
  sum.value = value;
  sum.pending = true;
  sum.free_sign = false;
}

// x + zero, the zero exact.
template <class V>
Tracked<V> add_zero(const Tracked<V>& x, const Tracked<V>& zero) {
  using C = Carrier<V>;
  Tracked<V> r = x;
  r.value = x.value + zero.value;
  if (x.is_exact_zero()) {
    const auto positive = [](const Tracked<V>& t) { return !t.free_sign && !C::negative(t.value); };
    r.free_sign = !positive(x) && !positive(zero) && (x.free_sign || zero.free_sign);
  } else if (r.pending && may_be_zero(r)) {
    r.free_sign = true;  // a product that underflows to -0 gives +0 + -0 = +0 alone, but -0 when it is fused
  }
  return r;
}

// The error of an open sum up to, but without, its last rounding to the compute format.
template <class V>
void charge_additions(Tracked<V>& t) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const Arithmetic& a = arithmetic();
  const bool enters = t.summed && a.accumulates_narrower;
  if (t.terms < 2 && !enters) return;
  settle(t);  // a sum of one product, which is rounded before it enters the accumulator

  const bool accumulator = t.summed && !a.accumulates_in_compute;
  const Rounding& to = accumulator ? a.accumulate : a.compute;
  const Bound slack = 1 + static_cast<Bound>(t.terms) * Bound(0x1p-51) + Bound(0x1p-48);
  const auto overflow = static_cast<Bound>(to.overflow);
  t.error *= slack;
  if (!C::finite(t.value)) {
    // The finite terms may overflow among themselves, rounded on the way, to the infinity that is not there yet.
    const auto growth = static_cast<Bound>(std::exp(t.terms * std::log1p(to.format.unit)));
    if (t.magnitude * growth * slack >= overflow) t.may_be |= kMayBeNan;
    return;
  }
  const bool exact =
      t.error == 0 && t.grid >= to.grid && exponent_of(t.magnitude) < t.grid + to.format.precision;
  if (!exact) {
    if (enters) t.error += static_cast<Bound>(t.terms) * static_cast<Bound>(to.half_subnormal);
    // The last addition is the rounding to the compute format, unless that is a conversion behind it.
    const double additions =
        (t.summed ? a.chain.additions(t.terms) : t.terms - 1) + (enters ? 1 : 0) - (accumulator ? 0 : 1);
    if (additions > 0) {
      const double growth = std::expm1(additions * std::log1p(to.format.unit));
      t.error += static_cast<Bound>(growth) * (t.magnitude + t.error) * slack;
    }
  }
  const double partial_sums = accumulator ? t.terms : t.terms - 2;
  if (a.flushes && partial_sums > 0 && t.grid < a.compute.format.min_exponent)
    t.error += static_cast<Bound>(partial_sums) *
               static_cast<Bound>(std::max(a.compute.format.min_normal, to.format.min_normal));
  if (t.error != 0) t.grid = kNoGrid;

  // On the way, a partial sum is at most the sum of the positive terms, and at least that of the negative ones.
  const Bound most = t.magnitude * slack + t.error;
  if (most >= overflow && (t.terms > 2 || accumulator)) {
    const Bound half = C::signed_size(t.value) / 2;
    const bool up = t.magnitude * slack / 2 + half + t.error >= overflow;
    const bool down = t.magnitude * slack / 2 - half + t.error >= overflow;
    if (up) t.may_be |= kMayBePositiveInfinity;
    if (down) t.may_be |= kMayBeNegativeInfinity;
    if (up && down) t.may_be |= kMayBeNan;
  }
}

}  // namespace detail

// Whether no rounding is pending.
template <class V>
bool is_closed(const Tracked<V>& t) {
  return t.terms < 2 && !t.pending && !(t.summed && arithmetic().accumulates_narrower);
}

// x as a number that the kernel has in its compute format.
template <class V>
Tracked<V> closed(const Tracked<V>& x) {
  Tracked<V> t = x;
  if (is_closed(t)) return t;
  detail::charge_additions(t);
  detail::round_once(t, arithmetic().compute);
  t.terms = 1;
  t.summed = false;
  t.magnitude = 0;
  if (Carrier<V>::finite(t.value)) {
    t.magnitude = Carrier<V>::size(t.value);
    if (t.error == 0 && t.magnitude == 0) t.grid = kEveryGrid;
  }
  return t;
}

template <class V>
Tracked<V> operator+(const Tracked<V>& x, const Tracked<V>& y) {
  if (x.is_exact_zero()) return detail::add_zero(y, x);
  if (y.is_exact_zero()) return detail::add_zero(x, y);
  // A sum that has an accumulator or a chain of its own ends here.
  const bool ends = !arithmetic().one_adder;
  Tracked<V> a = ends && x.summed ? closed(x) : x;
  Tracked<V> b = ends && y.summed ? closed(y) : y;
  detail::settle(a);
  detail::settle(b);
  detail::add_settled(a, b);
  return a;
}

template <class V>
Tracked<V> operator-(const Tracked<V>& x, const Tracked<V>& y) {
  return x + -y;
}

// Terms come one by one, in no particular order; a sum may also start from zero, which can change a zero's sign only.
template <class V>
class OpenSum {
 public:
  void add(Tracked<V> term) {
    ++count_;
    if (term.is_exact_zero()) {
      if (!Carrier<V>::negative(term.value) && !term.free_sign) positive_zero_ = true;
      return;
    }
    if (!arithmetic().one_adder && term.terms >= 2)
      term = closed(term);  // its additions are not the sum's own
    if (!any_) {
      sum_ = term;
      any_ = true;
      return;
    }
    detail::settle(sum_);
    detail::settle(term);
    detail::add_settled(sum_, term);
  }

  Tracked<V> total() {
    if (count_ == 0) return sum_;
    // An exact cancellation gives +0 in any order, and so does a sum with a +0 in it.
    if (!any_)
      sum_.free_sign = !positive_zero_;
    else if (sum_.error != 0 || sum_.value != V{})
      sum_.free_sign = detail::may_be_zero(sum_);
    if (arithmetic().chain.kind != Chain::Kind::any)
      sum_.terms = std::max(sum_.terms, static_cast<double>(count_));
    sum_.summed = true;
    return sum_;
  }

 private:
  Tracked<V> sum_;
  std::int64_t count_ = 0;
  bool any_ = false;
  bool positive_zero_ = false;
};

}  // namespace assay

namespace assay {

template <class V>
Tracked<V> operator-(Tracked<V> t) {
  t.value = -t.value;
  const std::uint8_t infinities = t.may_be & (kMayBePositiveInfinity | kMayBeNegativeInfinity);
  if (infinities == kMayBePositiveInfinity || infinities == kMayBeNegativeInfinity)
    t.may_be ^= kMayBePositiveInfinity | kMayBeNegativeInfinity;
  return t;
}

template <class V>
Tracked<V> operator*(const Tracked<V>& x, const Tracked<V>& y) {
  const auto multiplied = [](const Tracked<V>& a, const Tracked<V>& b) {
    const V value = Carrier<V>::limited(a.value * b.value);
    if ((a.may_be | b.may_be) != 0 || !Carrier<V>::finite(value)) return detail::nonfinite_product(a, b);
    return detail::product(a, b, value);
  };
  if (!arithmetic().rounds_operands && is_closed(x) && is_closed(y)) return multiplied(x, y);
  Tracked<V> a = closed(x);
  Tracked<V> b = closed(y);
  if (arithmetic().rounds_operands) {
    detail::round_once(a, arithmetic().multiply);
    detail::round_once(b, arithmetic().multiply);
  }
  return multiplied(a, b);
}

template <class V>
Tracked<V> operator/(const Tracked<V>& x, const Tracked<V>& y);

template <class V>
Tri operator<(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tri operator<=(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tri operator==(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tri operator>(const Tracked<V>& x, const Tracked<V>& y) {
  return y < x;
}
template <class V>
Tri operator>=(const Tracked<V>& x, const Tracked<V>& y) {
  return y <= x;
}
template <class V>
Tri operator!=(const Tracked<V>& x, const Tracked<V>& y) {
  return !(x == y);
}
template <class V>
Tri is_nan(const Tracked<V>& x);

// Either of two closed numbers: the smallest set around `likely` that holds both.
template <class V>
Tracked<V> hull(const Tracked<V>& likely, const Tracked<V>& other);

template <class V>
Tracked<V> select(Tri condition, const Tracked<V>& a, const Tracked<V>& b) {
  if (condition.sure) return condition.value ? a : b;
  return condition.value ? hull(closed(a), closed(b)) : hull(closed(b), closed(a));
}

template <class V>
Tracked<V> either(const Tracked<V>& a, const Tracked<V>& b) {
  return hull(closed(a), closed(b));
}

template <class V>
Tracked<V> maximum(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tracked<V> minimum(const Tracked<V>& x, const Tracked<V>& y) {
  return -maximum(-x, -y);
}
template <class V>
Tracked<V> abs(const Tracked<V>& x);
template <class V>
Tracked<V> sqrt(const Tracked<V>& x);
template <class V>
Tracked<V> pow(const Tracked<V>& x, const Tracked<V>& y);
// Every other elementary function.
template <class V>
Tracked<V> elementary(Function f, const Tracked<V>& x);

template <class V>
Tracked<V> exp(const Tracked<V>& x) {
  return elementary(Function::exp, x);
}
template <class V>
Tracked<V> log(const Tracked<V>& x) {
  return elementary(Function::log, x);
}
template <class V>
Tracked<V> tanh(const Tracked<V>& x) {
  return elementary(Function::tanh, x);
}
template <class V>
Tracked<V> erf(const Tracked<V>& x) {
  return elementary(Function::erf, x);
}
template <class V>
Tracked<V> sin(const Tracked<V>& x) {
  return elementary(Function::sin, x);
}
template <class V>
Tracked<V> cos(const Tracked<V>& x) {
  return elementary(Function::cos, x);
}
template <class V>
Tracked<V> asin(const Tracked<V>& x) {
  return elementary(Function::asin, x);
}
template <class V>
Tracked<V> acos(const Tracked<V>& x) {
  return elementary(Function::acos, x);
}
template <class V>
Tracked<V> atan(const Tracked<V>& x) {
  return elementary(Function::atan, x);
}
template <class V>
Tracked<V> exp2(const Tracked<V>& x) {
  return elementary(Function::exp2, x);
}
template <class V>
Tracked<V> log2(const Tracked<V>& x) {
  return elementary(Function::log2, x);
}
template <class V>
Tracked<V> expm1(const Tracked<V>& x) {
  return elementary(Function::expm1, x);
}
template <class V>
Tracked<V> log1p(const Tracked<V>& x) {
  return elementary(Function::log1p, x);
}

// The results that may be stored for x under the arithmetic of the scope.
template <class V>
Interval finish(const Tracked<V>& x);

template <class V>
struct ScalarOps<Tracked<V>> {
  static void begin(int, std::int64_t) { read_nonfinite() = false; }
  static Tracked<V> input(double x);
  static Tracked<V> parameter(double x) { return Tracked<V>(x); }
  static Tracked<V> cast(const Tracked<V>& x, Dtype d);
  template <class Term>
  static Tracked<V> sum(std::int64_t n, Term&& term) {
    OpenSum<V> s;
    for (std::int64_t k = 0; k < n; ++k) s.add(term(k));
    return s.total();
  }
};

}  // namespace assay
