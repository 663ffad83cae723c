// The arithmetic of the kernel that is judged: its contract, worked out for one result dtype. Error-carrying scalars
// look it up in a thread-local variable, so that references stay plain formulas.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "contract.h"

namespace assay {

// A format with what rounding to it needs.
struct Rounding {
  Format format{};
  int grid = 0;  // every finite value is a multiple of 2^grid
  long double overflow =
      0;  // the least magnitude that rounds to infinity: max + half a unit in the last place
  long double half_subnormal = 0;  // the error of rounding a subnormal result: no double holds it for f64

  Rounding() = default;
  explicit Rounding(const Format& f);
  friend bool operator==(const Rounding& a, const Rounding& b) {
    return a.format.precision == b.format.precision && a.grid == b.grid && a.format.max == b.format.max;
  }
};

struct Arithmetic {
  Rounding compute, accumulate, multiply, result;
  bool one_adder = true;  // sums are added in the compute format, in any order: as any other addition
  bool accumulates_in_compute = true;
  bool accumulates_narrower =
      false;                     // in precision or range: a sum's terms may be rounded when they enter it
  bool rounds_operands = false;  // products take operands of a narrower format
  bool stores_compute = true;    // the result is of the compute format: the last operation rounds to it
  bool flushes = false;          // ftz or daz: a subnormal may turn to zero between operations
  bool faithful_store = false;
  bool ftz = false, daz = false;
  bool signed_zero = true, nonfinite = true;
  bool integral = false;         // the result is of an integer dtype
  bool first_tie = true;         // of equal candidates the first one's place
  bool updates_moments = false;  // mean and squares by merging parts
  bool one_pass = false;         // squares as the sum of x^2 less n mean^2
  bool folds_affine = false;     // x * scale + shift in place of (x - mean) * scale
  bool rewrites = false;         // activations by the formulas of inference engines
  double tiny = 0;
  double div_extra = 0, sqrt_extra = 0;
  Chain chain;
  CutOff cut_off;  // of the additions of sums; none: they round to nearest
  std::array<Accuracy, kFunctions> accuracy{};

  Arithmetic() = default;
  // Of numbers of dtype `computed_in`, for a result stored as another dtype or as the same.
  Arithmetic(const Contract& contract, Dtype computed_in, Dtype stored_as);
  Arithmetic(const Contract& contract, Dtype dtype) : Arithmetic(contract, dtype, dtype) {}

  // The roundings of a sum's additions that a term of `terms` passes through at most, in unit roundoffs: sums.md.
  double roundings_of_sum(double terms) const;
  const Accuracy& of(Function f) const { return accuracy[static_cast<std::size_t>(f)]; }
  // Whether double carries the values with enough to spare; otherwise 191 bits do.
  bool double_suffices() const { return compute.format.precision <= 24 && result.format.precision <= 24; }
};

namespace detail {
inline constinit thread_local const Arithmetic* current_arithmetic = nullptr;
inline constinit thread_local bool read_nonfinite = false;
inline thread_local std::vector<std::int64_t> places;
}  // namespace detail

// The arithmetic of the evaluation that this thread is in. Precondition: there is an ArithmeticScope.
inline const Arithmetic& arithmetic() { return *detail::current_arithmetic; }

class ArithmeticScope {
 public:
  explicit ArithmeticScope(const Arithmetic& a) : saved_(detail::current_arithmetic) {
    detail::current_arithmetic = &a;
  }
  ~ArithmeticScope() { detail::current_arithmetic = saved_; }
  ArithmeticScope(const ArithmeticScope&) = delete;
  ArithmeticScope& operator=(const ArithmeticScope&) = delete;

 private:
  const Arithmetic* saved_;
};

// Whether every number of the compute format is one of this format: to store it there rounds nothing.
inline bool holds_all_of_compute(const Format& f) {
  const Rounding to(f), &compute = arithmetic().compute;
  return to.format.precision >= compute.format.precision && to.grid <= compute.grid &&
         to.overflow >= compute.overflow;
}

// Set when an element that was NaN or infinite has been read: `nonfinite=unspecified` makes the result free then.
inline bool& read_nonfinite() { return detail::read_nonfinite; }

// Of a result that is a position: the positions it may be, in order. Empty for other results.
inline std::vector<std::int64_t>& places() { return detail::places; }

}  // namespace assay
