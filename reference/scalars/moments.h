// The mean of n numbers, and the sum of their squared distances from it.
//
//   const auto [mean, squares] = moments<S>(n, [&](std::int64_t k) { return x[k]; });
//
// Under a contract with moments=updating, the Tracked and Adversary readings admit what merging the moments of parts gives,
// too: moments.md derives by how much.
#pragma once

#include "adversary.h"
#include "tracked.h"

namespace assay {

template <class S>
struct Moments {
  S mean, squares;
};

// With all that the finite numbers among x may be: the sum and the maximum of |x|, and the sum of |x - mean|.
template <class V>
struct MomentSizes {
  typename Tracked<V>::Bound sum = 0, largest = 0, distances = 0;
  bool nan = false, infinite = false;  // some x is, for certain
  bool open = false;                   // some x may or may not be
  bool nonfinite() const { return nan || infinite || open; }
};

// Adds to the moments of n numbers by two passes what merging parts may give.
template <class V>
void admit_merging(Moments<Tracked<V>>& m, std::int64_t n, const MomentSizes<V>& sizes);

// The moments by merging, in some order, some numbers alone and some in parts. Precondition: x is not empty.
template <class V>
Moments<Adversary<V>> merged_moments(std::vector<Adversary<V>>& x);

namespace detail {

template <class S, class X>
void settle_moments(Moments<S>&, std::int64_t, const X&) {}

// The set of a sum of squares as one from 0 on, where it reaches below.
template <class V>
void keep_positive(Tracked<V>& squares) {
  using C = Carrier<V>;
  const auto greatest = C::size(squares.value) + squares.error;
  if (!C::finite(squares.value) || squares.error <= C::least_size(squares.value) ||
      !(greatest < std::numeric_limits<decltype(greatest)>::infinity()))
    return;
  squares.value = C::to_value(inflate(greatest / 2));
  squares.error = squares.magnitude = C::size(squares.value);
}

template <class V, class X>
void settle_moments(Moments<Tracked<V>>& m, std::int64_t n, const X& x) {
  using C = Carrier<V>;
  m.mean = closed(m.mean);
  m.squares = closed(m.squares);
  MomentSizes<V> sizes;
  for (std::int64_t k = 0; k < n; ++k) {
    const Tracked<V> t = closed(x(k));
    if (!C::finite(t.value) || t.may_be != 0) {
      const bool certain = !C::finite(t.value) && t.error == 0 && t.may_be == 0;
      sizes.open |= !certain;
      (C::nan(t.value) ? sizes.nan : sizes.infinite) |= certain;
      continue;
    }
    const auto size = C::size(t.value) + t.error;
    sizes.sum += size;
    sizes.largest = std::max(sizes.largest, size);
    if (C::finite(m.mean.value)) sizes.distances += C::size(t.value - m.mean.value) + t.error + m.mean.error;
  }
  // A sum of squares is never minus infinity, and NaN only where a number is not finite or the mean is NaN.
  if (!sizes.nonfinite() && C::finite(m.mean.value) && (m.mean.may_be & kMayBeNan) == 0)
    m.squares.may_be &= kMayBePositiveInfinity;
  keep_positive(m.squares);
  if (arithmetic().updates_moments && n >= 2) admit_merging(m, n, sizes);
}

template <class V, class X>
void settle_moments(Moments<Adversary<V>>& m, std::int64_t n, const X& x) {
  if (!arithmetic().updates_moments || n < 2 || assay::attack_state().coin()) return;
  if (arithmetic().chain.kind == Chain::Kind::pairwise) return;
  std::vector<Adversary<V>> all;
  all.reserve(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) all.push_back(x(k));
  m = merged_moments(all);
}

}  // namespace detail

template <class S, class X>
Moments<S> moments(std::int64_t n, const X& x) {
  Moments<S> m;
  m.mean = sum<S>(n, x) / S(n);
  const S centre = group(m.mean);
  m.squares = sum<S>(n, [&](std::int64_t k) {
    const S distance = x(k) - centre;
    return distance * distance;
  });
  detail::settle_moments(m, n, x);
  return m;
}

}  // namespace assay
