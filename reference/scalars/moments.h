// The mean of n elements of a tensor, and the sum of their squared distances from it.
//
//   const auto [mean, squares] = moments(n, input, [&](std::int64_t k) { return row * n + k; });
//
// The last argument says which elements, by their numbers in row-major order; or it is the number of the first of neighbours.
// Under a contract with moments=updating, the Tracked and Adversary readings admit what merging the moments of parts gives,
// too, and with moments=one_pass what the sum of squares less the squared sum does: moments.md derives by how much.
#pragma once

#include <span>
#include <vector>

#include "adversary.h"
#include "tracked.h"

namespace assay {

template <class S>
struct Moments {
  S mean, squares;
};

// By two passes, and what merging the moments of parts may give where that is allowed. Of elements of a tensor.
template <class V>
Moments<Tracked<V>> tracked_moments(std::span<const double> x);
// The same of numbers that have been computed, each closed.
template <class V>
Moments<Tracked<V>> tracked_moments(std::span<const Tracked<V>> x);

// The moments by merging, in some order, some numbers alone and some in parts. Precondition: x is not empty.
template <class V>
Moments<Adversary<V>> merged_moments(std::vector<Adversary<V>>& x);

// The moments from the sum of x and that of x^2. Precondition: x is not empty.
template <class V>
Moments<Adversary<V>> one_pass_moments(const std::vector<Adversary<V>>& x);

namespace detail {

template <class S, class X>
void settle_moments(Moments<S>&, std::int64_t, const X&) {}

// By two passes, as the formula says.
template <class S, class X>
Moments<S> two_passes(std::int64_t n, const X& x) {
  Moments<S> m;
  m.mean = sum<S>(n, x) / S(n);
  const S centre = group(m.mean);
  m.squares = sum<S>(n, [&](std::int64_t k) {
    const S distance = x(k) - centre;
    return distance * distance;
  });
  return m;
}

template <class V, class X>
void settle_moments(Moments<Adversary<V>>& m, std::int64_t n, const X& x) {
  const bool updates = arithmetic().updates_moments && arithmetic().chain.kind != Chain::Kind::pairwise;
  if ((!updates && !arithmetic().one_pass) || n < (updates ? 2 : 1) || assay::attack_state().coin()) return;
  std::vector<Adversary<V>> all;
  all.reserve(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) all.push_back(x(k));
  m = updates ? merged_moments(all) : one_pass_moments(all);
}

}  // namespace detail

namespace detail {

template <template <class> class Tensor, class S, class Number>
Moments<S> moments_of_computed(std::int64_t n, const Tensor<S>& input, const Number& number) {
  std::vector<S> all;
  all.reserve(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) all.push_back(closed(input.at(number(k))));
  return tracked_moments<typename S::Value>(std::span<const S>(all));
}

}  // namespace detail

template <template <class> class Tensor, class S, class Number>
Moments<S> moments(std::int64_t n, const Tensor<S>& input, const Number& number) {
  if constexpr (requires { typename S::Bound; }) {
    if (!input.is_decoded()) return detail::moments_of_computed(n, input, number);
    std::vector<double> all(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) all[static_cast<std::size_t>(k)] = input.value(number(k));
    return tracked_moments<typename S::Value>(std::span<const double>(all));
  } else {
    const auto x = [&](std::int64_t k) { return input.at(number(k)); };
    Moments<S> m = detail::two_passes<S>(n, x);
    detail::settle_moments(m, n, x);
    return m;
  }
}

// Of neighbouring elements.
template <template <class> class Tensor, class S>
Moments<S> moments(std::int64_t n, const Tensor<S>& input, std::int64_t first) {
  if constexpr (requires { typename S::Bound; })
    if (input.is_decoded()) return tracked_moments<typename S::Value>(input.values(first, n));
  return moments(n, input, [&](std::int64_t k) { return first + k; });
}

}  // namespace assay
