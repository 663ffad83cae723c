// Sums of squares of distances from one number, in tight loops, as tracked_many.cpp has those of the numbers themselves.
#include <algorithm>
#include <array>

#include "tracked_many.h"

namespace assay {
namespace many {
namespace {

// What a loop of squared_distances() knows of its arithmetic.
struct Limits {
  double unit, least, overflow;  // of Rounding; least is half_subnormal
};

// detail::round_once of a positive number with an error. Gives 0 where that depends on more, 2 where it may overflow, else 1.
inline double round_inexact(double size, double& error, const Limits& to) {
  const auto larger = [](double a, double b) { return a < b ? b : a; };  // std::max has a branch here
  const double greatest = size + error;
  const double half_unit = larger(to.unit * greatest, to.least), to_zero = larger(size - error, 0);
  const double known = greatest < to.least ? 1 : error >= detail::kNearby * half_unit ? 1 : 0;
  error = detail::inflate(error + (greatest < to.least ? to_zero : half_unit));
  return size + error < to.overflow ? known : error - size < to.overflow ? 2 * known : 0;
}

// (x - from)^2 of inputs and a number with an error, as terms of a sum: values and errors. Where `known` is 0 they are nothing, and
// where it is 2 they may be infinite. Without branches: compilers take several at a time.
ASSAY_MANY_AT_ONCE
void squared_distances(const double* __restrict x, std::size_t n, double from, double from_error, Limits to,
                       double* __restrict value, double* __restrict error, double* __restrict known) {
  constexpr double kSlack = 1 + 2 * 0x1p-51 + 0x1p-48;  // of detail::charge_additions
  for (std::size_t k = 0; k < n; ++k) {
    const double distance = x[k] - from, size = std::fabs(distance);
    double of_distance = (from_error + C::residual(x[k], -from, distance)) * kSlack;
    const double first = round_inexact(size, of_distance, to);
    value[k] = distance * distance;
    error[k] = detail::inflate(size * of_distance + size * of_distance + of_distance * of_distance +
                               value[k] * C::kUnit) +
               C::kLeast;
    const double second = round_inexact(value[k], error[k], to);
    known[k] = first == 1 ? second : 0;
  }
}

// The same where no number is near zero or infinity, or hardly rounded: then all are known. Else false.
ASSAY_MANY_AT_ONCE
bool usual_squared_distances(const double* __restrict x, std::size_t n, double from, double from_error,
                             Limits to, double* __restrict value, double* __restrict error) {
  constexpr double kSlack = 1 + 2 * 0x1p-51 + 0x1p-48;  // of detail::charge_additions
  std::int64_t others = 0;
  const auto rounded = [&](double size, double e, std::int64_t& other) {
    const double greatest = size + e;
    const double half_unit = to.unit * greatest < to.least ? to.least : to.unit * greatest;
    const double result = detail::inflate(e + half_unit);
    const bool usual =
        (greatest >= to.least) & (e >= detail::kNearby * half_unit) & (size + result < to.overflow);
    other += usual ? 0 : 1;
    return result;
  };
  for (std::size_t k = 0; k < n; ++k) {
    const double distance = x[k] - from, size = std::fabs(distance);
    const double of_distance =
        rounded(size, (from_error + C::residual(x[k], -from, distance)) * kSlack, others);
    value[k] = distance * distance;
    error[k] = rounded(value[k],
                       detail::inflate(size * of_distance + size * of_distance + of_distance * of_distance +
                                       value[k] * C::kUnit) +
                           C::kLeast,
                       others);
  }
  return others == 0;
}

// (x - from)^2 of exact numbers, as they enter a sum: closed, multiplied and settled.
class SquaredDistance {
 public:
  explicit SquaredDistance(const T& from)
      : from_(from),
        limits_{to_.format.unit, static_cast<double>(to_.half_subnormal), static_cast<double>(to_.overflow)},
        exact_(from.error == 0 && from.may_be == 0 && from.terms < 2 && !from.pending && !from.summed &&
               std::isfinite(from.value) && from.value != 0 && from.grid >= to_.grid) {}

  bool takes() const {
    return exact_ || (from_.error != 0 && from_.may_be == 0 && from_.terms < 2 && !from_.pending &&
                      !from_.foreign && std::isfinite(from_.value));
  }
  struct Squares {
    std::array<double, kBlock> value, error, known;
    std::array<int, kBlock> grid;

    bool all_known(std::size_t n) const {  // and finite
      return std::all_of(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(n),
                         [](double k) { return k == 1; });
    }
  };
  bool is_exact() const { return exact_; }
  // Whether the square is an exact zero.
  bool is_zero(double x) const {
    const Arithmetic& a = arithmetic();
    return exact_ && x == from_.value && is_f32(x) && !a.rounds_operands && !a.flushes;
  }
  // Adds the squares of exact numbers if their distances are exact, too; else what it did is void. That of zero is given, as it
  // enters a sum; `none` becomes whether a square is zero.
  bool add_exactly(T& sum, std::span<const double> x, const T& of_zero, bool& none) const {
    std::array<double, kBlock> square, error;
    std::size_t n = 0;
    double largest = 0;
    int grid = kEveryGrid;
    bool any_zero = false;
    for (const double each : x) {
      const double distance = each - from_.value;
      largest = std::max(largest, std::fabs(distance));
      if (each == 0)
        any_zero = true;
      else
        grid = std::min(grid, C::grid(each));
      square[n] = distance * distance;
      n += distance != 0 ? 1 : 0;
    }
    none = n < x.size();
    const bool one_grid = grid >= from_.grid;  // of all distances
    grid = std::min(grid, from_.grid);
    const int exponent = C::exponent(largest), precision = to_.format.precision;
    if (std::min(grid, 2 * grid) < to_.grid || exponent >= grid + precision) return false;
    if (!(largest < limits_.overflow && largest * largest < limits_.overflow / 2)) return false;
    if (n == 0) return true;
    const double rounded = C::power(2 * grid + precision);
    const auto error_of = [&](double s) { return s < rounded ? 0.0 : detail::inflate(limits_.unit * s); };
    if (any_zero && error_of(of_zero.value) != of_zero.error) return false;
    if (exponent < grid + precision / 2) {  // and so are the squares
      add_all(sum, {square.data(), n}, nullptr);
    } else if (one_grid) {
      for (std::size_t k = 0; k < n; ++k) error[k] = error_of(square[k]);
      add_all(sum, {square.data(), n}, error.data());
    } else {
      return false;
    }
    sum.grid = sum.error == 0 ? std::min(sum.grid, 2 * grid) : kNoGrid;
    return true;
  }
  void of(std::span<const double> x, Squares& squares) const {
    if (!exact_) {
      if (usual_squared_distances(x.data(), x.size(), from_.value, from_.error, limits_, squares.value.data(),
                                  squares.error.data())) {
        squares.known.fill(1);
        squares.grid.fill(kNoGrid);
        return;
      }
      squared_distances(x.data(), x.size(), from_.value, from_.error, limits_, squares.value.data(),
                        squares.error.data(), squares.known.data());
      squares.grid.fill(kNoGrid);
      return;
    }
    for (std::size_t k = 0; k < x.size(); ++k)
      squares.known[k] = exact(x[k], squares.value[k], squares.error[k], squares.grid[k]) ? 1 : 0;
  }

 private:
  bool exact(double x, double& square, double& squared_error, int& grid) const {
    if (x == 0) return false;
    const double distance = x - from_.value, size = std::fabs(distance);
    double error = 0;
    grid = std::min(C::grid(x), from_.grid);
    if (C::exponent(distance) - grid >= C::kBits || !round_exact(distance, error, grid)) return false;
    square = distance * distance;
    squared_error = 0;
    if (error == 0) {
      if (distance == 0) return true;
      grid = 2 * grid;
      if (grid < C::kLeastGrid || C::exponent(square) - grid >= C::kBits) return false;
      return round_exact(square, squared_error, grid);
    }
    grid = kNoGrid;
    squared_error = detail::inflate(detail::times(size, error) + detail::times(size, error) +
                                    detail::times(error, error) + square * C::kUnit) +
                    C::kLeast;
    return round_inexact(square, squared_error, limits_) == 1;
  }

  // detail::round_once of a number that had no error.
  bool round_exact(double x, double& error, int& grid) const {
    if (x != 0 && !detail::representable(x, grid, to_)) {
      const double size = std::fabs(x);
      error = detail::inflate(size < limits_.least ? size : std::max(limits_.unit * size, limits_.least));
      grid = kNoGrid;
    }
    return std::fabs(x) + error < limits_.overflow;
  }

  const T& from_;
  const Rounding& to_ = arithmetic().compute;
  Limits limits_;
  bool exact_;
};

}  // namespace
}  // namespace many

template <class V>
void OpenSum<V>::add_squared_distances(std::span<const double> x, const Tracked<V>& from) {
  add_many([&] { add_squared_distances_in_loops(x, from); });
}

template <class V>
void OpenSum<V>::add_squared_distances_in_loops(std::span<const double> x, const Tracked<V>& from) {
  using namespace many;
  const auto square_of = [&from](const Tracked<V>& t) {
    const Tracked<V> distance = t - from;
    return distance * distance;
  };
  const auto add_next = [&](std::size_t& k) {
    stop_point_at(static_cast<std::int64_t>(k));
    add(square_of(ScalarOps<Tracked<V>>::input(x[k++])));
  };
  std::size_t k = 0;
  if constexpr (std::is_same_v<V, double>) {
    const int least_grid = arithmetic().compute.grid;
    if (const SquaredDistance squared(from); squared.takes()) {
      T of_zero = square_of(T::exact(0));
      const bool exact_zero = of_zero.is_exact_zero();
      const bool one_adder = arithmetic().one_adder;
      if (!exact_zero) detail::settle(of_zero);
      // Whether it is added as any other.
      const bool plain_zero = !exact_zero && of_zero.may_be == 0 && of_zero.terms == 1 &&
                              of_zero.value == from.value * from.value &&
                              of_zero.magnitude == of_zero.value &&
                              (of_zero.error != 0 || squared.is_exact());
      SquaredDistance::Squares squares;
      std::size_t begin = 0, end = 0;  // of those that have been squared
      while (k < x.size()) {
        if (!plain(kMayBePositiveInfinity)) {
          if (squared.is_zero(x[k])) {
            ++count_;
            positive_zero_ = true;
            ++k;
          } else {
            add_next(k);
          }
          continue;
        }
        const auto block = x.subspan(k, std::min(kBlock, x.size() - k));
        if (const Looks looks = look_at(block, least_grid);
            looks.exact && (looks.zeros == 0 || (plain_zero && none_is_negative_zero(block)))) {
          T sum = sum_;
          bool added = true, none = false;
          if (squared.is_exact()) {
            added = squared.add_exactly(sum, block, of_zero, none);
          } else {
            squared.of(block, squares);
            begin = k;
            end = k + block.size();
            for (std::size_t j = 0; looks.zeros != 0 && j < block.size(); ++j) {
              if (block[j] != 0) continue;
              squares.value[j] = of_zero.value;
              squares.error[j] = of_zero.error;
              squares.known[j] = 1;
            }
            added = squares.all_known(block.size());
            add_all(sum, {squares.value.data(), block.size()}, squares.error.data());
            sum.grid = kNoGrid;
          }
          if (added && std::isfinite(sum.value)) {
            sum_ = sum;
            count_ += static_cast<std::int64_t>(block.size());
            positive_zero_ = positive_zero_ || none;
            k += block.size();
            continue;
          }
        }
        T sum = sum_;
        const std::size_t until = k + block.size();
        for (; k < until && std::isfinite(sum.value) && is_exact(x[k], least_grid); ++k) {
          if (x[k] == 0) {
            if (exact_zero || std::signbit(x[k]) || (!one_adder && of_zero.terms >= 2)) break;
            ++count_;
            detail::add_settled(sum, of_zero);
            continue;
          }
          if (k >= end) {
            begin = k;
            end = until;
            squared.of(x.subspan(begin, end - begin), squares);
          }
          const std::size_t at = k - begin;
          if (squares.known[at] == 0) break;
          ++count_;
          const double value = squares.value[at], error = squares.error[at];
          if (value == 0 && error == 0) {
            positive_zero_ = true;
            continue;
          }
          sum.grid = sum.error == 0 ? std::min(sum.grid, squares.grid[at]) : kNoGrid;
          add_settled(sum, value, error, value);
          if (squares.known[at] == 2) sum.may_be |= kMayBePositiveInfinity;
          if (sum.error != 0) sum.grid = kNoGrid;
          sum.pending = true;
          sum.free_sign = false;
        }
        sum_ = sum;
        if (k < until) add_next(k);
      }
    } else if (!std::isfinite(from.value) && from.error == 0 && from.may_be == 0) {
      // Every distance from it is infinite, or NaN; but numbers that may overflow on the way.
      const T square = square_of(T::exact(1));
      const auto overflow = static_cast<double>(arithmetic().compute.overflow);
      while (k < x.size()) {
        const bool same = stays() && (std::isnan(sum_.value) || sum_.value == square.value);
        if (!same || !is_exact(x[k], least_grid) || !(std::fabs(x[k]) + from.magnitude < overflow / 4)) {
          add_next(k);
          continue;
        }
        ++count_;
        ++k;
        sum_.terms += square.terms;
        sum_.magnitude += square.magnitude;
      }
    }
  }
  while (k < x.size()) add_next(k);
}

template void OpenSum<double>::add_squared_distances(std::span<const double>, const Tracked<double>&);
template void OpenSum<Real>::add_squared_distances(std::span<const double>, const Tracked<Real>&);

}  // namespace assay
