// Open sums of Tracked terms: what a kernel may make of them by adding in any order, and with which error.
#pragma once

#include "tracked_set.h"

namespace assay {

namespace detail {

// A term as a sum takes it: its own rounding charged (a fused multiply-add leaves it out), open sums left open.
template <class V>
void settle(Tracked<V>& t) {
  const Rounding& compute = arithmetic().compute;
  if (t.terms >= 2) return;
  if (t.pending) {
    round_once(t, compute);
  } else if (t.error == 0 ? t.grid < compute.grid : t.foreign) {
    // Not a number of the compute format, so that adding it may round in the subnormal range, where sums of numbers of
    // the format are exact.
    t.error += static_cast<typename Tracked<V>::Bound>(compute.half_subnormal);
    t.grid = kNoGrid;
    t.foreign = false;
  }
}

// x where it is all there is to a sum. Adding zero rounds a number that is none of the compute format.
template <class V>
void alone(Tracked<V>& x) {
  if (x.terms < 2 && !x.pending && Carrier<V>::finite(x.value)) x.pending = !fits(x);
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
  alone(r);
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
  // Every number on the way may be subnormal and lost: what enters, and partial sums but the last.
  const double on_the_way = (enters ? t.terms : 0) + (accumulator ? t.terms : t.terms - 2);
  if (a.flushes && on_the_way > 0 && t.grid < std::max(a.compute.format.min_exponent, to.format.min_exponent))
    t.error += static_cast<Bound>(on_the_way) *
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
    // They may meet, and either may meet an infinite term.
    if ((up || down) && (t.may_be & kMayBePositiveInfinity) != 0 && (t.may_be & kMayBeNegativeInfinity) != 0)
      t.may_be |= kMayBeNan;
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
Tracked<V> operator-(Tracked<V> t) {
  t.value = -t.value;
  if (t.terms >= 2 && t.value == V{}) t.free_sign = true;  // b - a for -(a - b)
  const std::uint8_t infinities = t.may_be & (kMayBePositiveInfinity | kMayBeNegativeInfinity);
  if (infinities == kMayBePositiveInfinity || infinities == kMayBeNegativeInfinity)
    t.may_be ^= kMayBePositiveInfinity | kMayBeNegativeInfinity;
  return t;
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
    if (!arithmetic().one_adder && (term.terms >= 2 || term.summed))
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
    detail::alone(sum_);
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
