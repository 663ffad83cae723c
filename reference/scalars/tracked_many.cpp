// Sums of many numbers of the plain kind, in tight loops: finite and exact, or squares of their distances from one number,
// under an arithmetic without flushing and narrower operands. Every loop gives what OpenSum::add gives for one term after
// the other, to the bit, because it has the same operations in the same order; what is not plain goes through that.
#include <cmath>

#include "tracked.h"

namespace assay {
namespace {

using T = Tracked<double>;
using C = Carrier<double>;

// A double of this many bits is exact, and so is a product of two.
bool is_f32(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

bool is_of(const Format& f, double x) { return f.precision == 24 ? is_f32(x) : round_to(x, f) == x; }

// detail::add_settled, of a term that has an error or is not on the sum's grid: its residual is 0 where the sum is exact.
void add_settled(T& sum, double value, double error, double magnitude) {
  const double next = sum.value + value;
  sum.error += error;
  sum.error += C::residual(sum.value, value, next);
  sum.value = next;
  sum.magnitude += magnitude;
  sum.terms += 1;
}

// detail::round_once of a number with an error, unless that depends on more.
bool round_inexact(double size, double& error, const Rounding& to, double least, double overflow) {
  const double greatest = size + error;
  const double half_unit = std::max(to.format.unit * greatest, least);
  if (greatest < least || error < detail::kNearby * half_unit) return false;
  error = detail::inflate(error + half_unit);
  return size + error < overflow;
}

}  // namespace

template <class V>
bool OpenSum<V>::plain() const {
  const Arithmetic& a = arithmetic();
  return std::is_same_v<V, double> && any_ && sum_.terms >= 2 && sum_.may_be == 0 &&
         Carrier<V>::finite(sum_.value) && !a.rounds_operands && !a.flushes;
}

template <class V>
void OpenSum<V>::add_all(std::span<const Tracked<V>> terms) {
  std::size_t k = 0;
  if constexpr (std::is_same_v<V, double>) {
    while (k < terms.size() && !plain() && k < 4) add(terms[k++]);
    const int least_grid = arithmetic().compute.grid;
    for (; k < terms.size() && plain(); ++k) {
      const T& t = terms[k];
      const bool exact = t.error == 0 && t.may_be == 0 && t.terms < 2 && !t.pending && !t.summed &&
                         t.magnitude != 0 && t.grid >= least_grid && std::isfinite(t.value);
      if (!exact) {
        add(t);
        continue;
      }
      ++count_;
      sum_.grid = sum_.error == 0 ? std::min(sum_.grid, t.grid) : kNoGrid;
      add_settled(sum_, t.value, 0, t.magnitude);
      if (sum_.error != 0) sum_.grid = kNoGrid;
      sum_.pending = true;
      sum_.free_sign = false;
    }
  }
  for (; k < terms.size(); ++k) add(terms[k]);
}

template <class V>
void OpenSum<V>::add_products(std::span<const double> a, std::span<const double> b) {
  using Ops = ScalarOps<Tracked<V>>;
  std::size_t k = 0;
  const auto add_next = [&] {
    add(Ops::input(a[k]) * Ops::input(b[k]));
    ++k;
  };
  if constexpr (std::is_same_v<V, double>) {
    while (k < a.size() && !plain() && k < 4) add_next();
    const Rounding& to = arithmetic().compute;
    const auto least = static_cast<double>(to.half_subnormal), overflow = static_cast<double>(to.overflow);
    double largest_a = 0, largest_b = 0;
    bool exact = plain();
    for (std::size_t j = k; j < a.size(); ++j) {
      exact = exact && is_f32(a[j]) && is_f32(b[j]);  // NaN is not
      largest_a = std::max(largest_a, std::fabs(a[j]));
      largest_b = std::max(largest_b, std::fabs(b[j]));
    }
    // Half of it, because a product has an error beside its size. Infinities are not below.
    exact = exact && largest_a < overflow && largest_b < overflow && largest_a * largest_b < overflow / 2;
    if (exact) {
      T sum = sum_;
      for (; k < a.size(); ++k) {
        const double p = a[k] * b[k], size = std::fabs(p);
        ++count_;
        if (p == 0) {
          positive_zero_ = positive_zero_ || !std::signbit(p);
          continue;
        }
        const double half_unit = size < least ? size : std::max(to.format.unit * size, least);
        if (sum.grid != kNoGrid) sum.grid = std::min(sum.grid, C::grid(p));
        add_settled(sum, p, is_of(to.format, p) ? 0.0 : detail::inflate(half_unit), size);
        if (sum.error != 0) sum.grid = kNoGrid;
      }
      sum_ = sum;
    }
  }
  while (k < a.size()) add_next();
}

template <class V>
void OpenSum<V>::add_squared_distances(std::span<const Tracked<V>> x, const Tracked<V>& from) {
  std::size_t k = 0;
  const auto add_next = [&] {
    const Tracked<V> distance = x[k] - from;
    add(distance * distance);
    ++k;
  };
  if constexpr (std::is_same_v<V, double>) {
    while (k < x.size() && !plain() && k < 4) add_next();
    const Rounding& to = arithmetic().compute;
    const auto least = static_cast<double>(to.half_subnormal), overflow = static_cast<double>(to.overflow);
    const bool inexact = from.error != 0 && from.may_be == 0 && from.terms < 2 && !from.pending &&
                         !from.foreign && std::isfinite(from.value);
    const double slack = 1 + 2 * 0x1p-51 + 0x1p-48;  // of detail::charge_additions
    while (inexact && k < x.size() && plain()) {
      const T& t = x[k];
      const bool exact = t.error == 0 && t.may_be == 0 && t.terms < 2 && !t.pending && !t.summed &&
                         t.magnitude != 0 && t.grid >= to.grid && std::isfinite(t.value);
      const double distance = t.value - from.value, size = std::fabs(distance);
      double error = (from.error + C::residual(t.value, -from.value, distance)) * slack;
      if (!exact || !round_inexact(size, error, to, least, overflow)) {
        add_next();
        continue;
      }
      const double square = distance * distance;
      double of_square = detail::inflate(detail::times(size, error) + detail::times(size, error) +
                                         detail::times(error, error) + square * C::kUnit) +
                         C::kLeast;
      if (!std::isfinite(square) || !round_inexact(square, of_square, to, least, overflow)) {
        add_next();
        continue;
      }
      ++count_;
      ++k;
      add_settled(sum_, square, of_square, square);
      sum_.grid = kNoGrid;
      sum_.pending = true;
      sum_.free_sign = false;
    }
  }
  while (k < x.size()) add_next();
}

template class OpenSum<double>;
template class OpenSum<Real>;

}  // namespace assay
