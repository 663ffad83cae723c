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

// An input, or what is as good: a number that every kernel has, on a grid that its compute format has.
bool is_exact(const T& t, int least_grid) {
  return t.error == 0 && t.may_be == 0 && t.terms < 2 && !t.pending && !t.summed && t.grid >= least_grid &&
         std::isfinite(t.value);
}

// (x - from)^2 of an exact x, as it enters a sum: closed, multiplied and settled.
class SquaredDistance {
 public:
  explicit SquaredDistance(const T& from)
      : from_(from),
        least_(static_cast<double>(to_.half_subnormal)),
        overflow_(static_cast<double>(to_.overflow)),
        exact_(is_exact(from, to_.grid) && from.value != 0) {}

  bool takes() const {
    return exact_ || (from_.error != 0 && from_.may_be == 0 && from_.terms < 2 && !from_.pending &&
                      !from_.foreign && std::isfinite(from_.value));
  }
  // Of value, error and grid; zero, where it is exactly that. False where the answer depends on more: then `square` is nothing.
  bool of(const T& x, T& square) const {
    if (x.value == 0 || !is_exact(x, to_.grid)) return false;
    const double distance = x.value - from_.value, size = std::fabs(distance);
    double error = 0;
    int grid = kNoGrid;
    if (exact_) {
      grid = std::min(x.grid, from_.grid);
      if (C::exponent(distance) - grid >= C::kBits || !round_exact(distance, error, grid)) return false;
    } else {
      error = (from_.error + C::residual(x.value, -from_.value, distance)) * kSlack;
      if (!round_inexact(size, error, to_, least_, overflow_)) return false;
    }
    square.value = distance * distance;
    square.error = 0;
    square.grid = kNoGrid;
    if (error == 0) {
      if (distance == 0) return true;
      square.grid = 2 * grid;
      if (square.grid < C::kLeastGrid || C::exponent(square.value) - square.grid >= C::kBits) return false;
      return round_exact(square.value, square.error, square.grid);
    }
    square.error = detail::inflate(detail::times(size, error) + detail::times(size, error) +
                                   detail::times(error, error) + square.value * C::kUnit) +
                   C::kLeast;
    return std::isfinite(square.value) && round_inexact(square.value, square.error, to_, least_, overflow_);
  }

 private:
  static constexpr double kSlack = 1 + 2 * 0x1p-51 + 0x1p-48;  // of detail::charge_additions

  // detail::round_once of a number that had no error.
  bool round_exact(double x, double& error, int& grid) const {
    if (x != 0 && !detail::representable(x, grid, to_)) {
      const double size = std::fabs(x);
      error = detail::inflate(size < least_ ? size : std::max(to_.format.unit * size, least_));
      grid = kNoGrid;
    }
    return std::fabs(x) + error < overflow_;
  }

  const T& from_;
  const Rounding& to_ = arithmetic().compute;
  double least_, overflow_;
  bool exact_;
};

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
    const int least_grid = arithmetic().compute.grid;
    while (k < terms.size()) {
      if (!plain()) {
        add(terms[k++]);
        continue;
      }
      T sum = sum_;
      for (; k < terms.size() && std::isfinite(sum.value); ++k) {
        const T& t = terms[k];
        if (!is_exact(t, least_grid)) break;
        ++count_;
        if (t.value == 0) {
          positive_zero_ = positive_zero_ || (!std::signbit(t.value) && !t.free_sign);
          continue;
        }
        sum.grid = sum.error == 0 ? std::min(sum.grid, t.grid) : kNoGrid;
        add_settled(sum, t.value, 0, t.magnitude);
        if (sum.error != 0) sum.grid = kNoGrid;
        sum.pending = true;
        sum.free_sign = false;
      }
      sum_ = sum;
      if (k < terms.size()) add(terms[k++]);
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
  const auto square_of = [&from](const Tracked<V>& t) {
    const Tracked<V> distance = t - from;
    return distance * distance;
  };
  if constexpr (std::is_same_v<V, double>) {
    const SquaredDistance squared(from);
    const T of_zero = square_of(T::exact(0));
    while (squared.takes() && k < x.size()) {
      if (!plain()) {
        add(square_of(x[k++]));
        continue;
      }
      T sum = sum_;
      T square;
      for (; k < x.size() && std::isfinite(sum.value); ++k) {
        if (!squared.of(x[k], square)) break;
        ++count_;
        if (square.value == 0 && square.error == 0) {
          positive_zero_ = true;
          continue;
        }
        sum.grid = sum.error == 0 ? std::min(sum.grid, square.grid) : kNoGrid;
        add_settled(sum, square.value, square.error, square.value);
        if (sum.error != 0) sum.grid = kNoGrid;
        sum.pending = true;
        sum.free_sign = false;
      }
      sum_ = sum;
      if (k == x.size()) break;
      const bool zero = x[k].is_exact_zero() && !std::signbit(x[k].value) && !x[k].free_sign;
      add(zero ? of_zero : square_of(x[k]));
      ++k;
    }
  }
  for (; k < x.size(); ++k) add(square_of(x[k]));
}

template class OpenSum<double>;
template class OpenSum<Real>;

}  // namespace assay
