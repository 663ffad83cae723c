// Tracked: a number with the set of values that a conforming kernel may hold in its place. README.md proves the rules.
// Here the set itself, what one rounding does to it, and products.
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

struct TrackedFlags {
  bool pending : 1 = false;    // a rounding to the compute format comes next, unless it is fused away
  bool summed : 1 = false;     // made by sum(): it has passed through the accumulator
  bool free_sign : 1 = false;  // if this is a zero, its sign is not decided
  bool foreign : 1 =
      false;  // has an error, and may be a number that is none of the compute format: an input, say
};

template <class V>
struct Tracked : TrackedFlags {
  using Value = V;
  using Bound = typename Carrier<V>::Bound;

  std::uint32_t symbol = 0;  // its equation on the tape, if one is written: tape.h
  V value{};
  Bound error = 0;          // inherited, and the reference's own; infinite: any finite number
  Bound magnitude = 0;      // sum of |term| over the terms of the open sum; |value| if there is only one
  double terms = 1;         // of the open sum, zeros not counted unless the contract's chain depends on them
  int grid = kEveryGrid;    // 2^grid divides every term exactly; kNoGrid if error != 0
  std::uint8_t may_be = 0;  // MayBe

  Tracked() = default;
  // As by default, but number by number: what has just been written number by number is slow to read in wider pieces.
  Tracked(const Tracked& t)
      : TrackedFlags(t),
        symbol(t.symbol),
        value(t.value),
        error(t.error),
        magnitude(t.magnitude),
        terms(t.terms),
        grid(t.grid),
        may_be(t.may_be) {}
  Tracked& operator=(const Tracked& t) {
    TrackedFlags::operator=(t);
    symbol = t.symbol;
    value = t.value;
    error = t.error;
    magnitude = t.magnitude;
    terms = t.terms;
    grid = t.grid;
    may_be = t.may_be;
    return *this;
  }
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
  bool sign_known() const { return !free_sign && (error == 0 || Carrier<V>::least_size(value) > error); }
};

namespace detail {

// Errors are sums and products of a few rounded terms: this covers the roundings of one rule.
template <class Bound>
Bound inflate(Bound error) {
  return error * (Bound(1) + Bound(0x1p-48));
}

// a * b, where nothing times infinity is nothing.
template <class Bound>
Bound times(Bound a, Bound b) {
  return a == 0 || b == 0 ? 0 : a * b;
}

// Whether a number on this grid is one of the format, or too large for it.
template <class V>
bool representable(const V& value, int grid, const Rounding& in) {
  return grid >= in.grid && Carrier<V>::exponent(value) < grid + in.format.precision;
}

// Whether every kernel holds a closed number in its compute format.
template <class V>
bool fits(const Tracked<V>& t) {
  return t.error == 0 ? representable(t.value, t.grid, arithmetic().compute) : !t.foreign;
}

// Notes the infinities that rounding to the format may give.
template <class V>
void note_overflow(Tracked<V>& t, const Rounding& to) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const auto overflow = static_cast<Bound>(to.overflow);
  if (C::size(t.value) + t.error < overflow) return;
  t.may_be |= C::negative(t.value) ? kMayBeNegativeInfinity : kMayBePositiveInfinity;
  if (t.error - C::least_size(t.value) >= overflow)
    t.may_be |= kMayBePositiveInfinity | kMayBeNegativeInfinity;
}

// Notes that numbers below `least` may be flushed to zero.
template <class V>
void note_flush(Tracked<V>& t, typename Tracked<V>::Bound least) {
  using C = Carrier<V>;
  if (C::least_size(t.value) - t.error >= least || t.error >= C::size(t.value)) return;
  t.error = C::size(t.value);
  t.grid = kNoGrid;
}

// How near to a number of the format a number must be, as a share of half a unit in the last place, for Tracked to
// take note that it is rounded to that one.
inline constexpr double kNearby = 0x1p-20;

// What one rounding to the format adds to the error of a number that is not known to be representable.
template <class V>
typename Tracked<V>::Bound rounding_error(const Tracked<V>& t, const Rounding& to) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const Bound size = C::size(t.value) + t.error;
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
void round_once(Tracked<V>& t, const Rounding& to);
// The same, on the tape as well (tape.h).
template <class V>
void round_on_tape(Tracked<V>& t, const Rounding& to);

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
Tracked<V> product(const Tracked<V>& a, const Tracked<V>& b, const V& value);

}  // namespace detail

}  // namespace assay
