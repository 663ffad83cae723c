// What Tracked and Adversary ask of the numbers that carry their values: double, or Real for results in f64.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "real.h"

namespace assay {

template <class V>
struct Carrier;

namespace detail {

// floor(log2 |x|) for finite x; far below any number for zero.
inline int exponent_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x) & 0x7FFFFFFFFFFFFFFFu;
  if (bits >> 52 != 0) return static_cast<int>(bits >> 52) - 1023;
  return bits == 0 ? -(1 << 24) : 63 - std::countl_zero(bits) - 1074;
}

inline int exponent_of(long double x) {
  return x == 0 ? -(1 << 24) : std::isfinite(x) ? std::ilogb(x) : 1 << 24;
}

// 2^k, also below the normal range; 0 or infinity beyond.
inline double power_of_two(int k) {
  if (k >= -1022 && k <= 1023) return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
  return std::ldexp(1.0, k);
}

}  // namespace detail

// Common to both:
//   Bound          holds errors and magnitudes; as wide in range as no sum or product of them can leave
//   kBits          significand bits
//   kUnit          relative error of one operation, rounded to nearest
//   kLeast         more than the absolute error of one operation whose result underflows
//   kLeastGrid     below this grid a product may underflow
//   exponent(x)    floor(log2 |x|), for finite x; zero is far below any number
//   grid(x)        the exponent of the last bit that is set, for finite x that are not zero
//   size(x)        |x|, rounded up
//   least_size(x)  |x|, rounded down
//   signed_size(x) x as a Bound, to within 2^-53 of it
//   residual(a, b, s)  at least |a + b - s| for s = a + b
//   limited(x)     x, or infinity or zero where Bound would not hold it; zero is within kLeast of what it replaces
template <>
struct Carrier<double> {
  using Bound = double;
  static constexpr int kBits = 53;
  static constexpr int kLeastGrid = -1074;
  static constexpr double kUnit = 0x1p-53;
  static constexpr double kLeast = 0x1p-1070;

  static int exponent(double x) { return detail::exponent_of(x); }
  static int grid(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int biased = static_cast<int>(bits >> 52 & 0x7FF);
    const std::uint64_t fraction = bits & 0xFFFFFFFFFFFFFu;
    if (biased == 0) return std::countr_zero(fraction) - 1074;
    return biased - 1023 - 52 + (fraction == 0 ? 52 : std::countr_zero(fraction));
  }
  static bool finite(double x) { return std::isfinite(x); }
  static bool nan(double x) { return std::isnan(x); }
  static bool negative(double x) { return std::signbit(x); }
  static double size(double x) { return std::fabs(x); }
  static double least_size(double x) { return std::fabs(x); }
  static double signed_size(double x) { return x; }
  static double residual(double a, double b, double s) {  // Knuth's TwoSum: exact
    const double from_b = s - a;
    return std::fabs((a - (s - from_b)) + (b - from_b));
  }
  static double limited(double x) { return x; }
  static double to_value(double bound) { return bound; }
  static double power(int k) { return detail::power_of_two(k); }
};

template <>
struct Carrier<Real> {
  using Bound = long double;
  static_assert(std::numeric_limits<long double>::max_exponent >= 16384 &&
                    std::numeric_limits<long double>::digits >= 64,
                "errors of f64 results need a long double with a wider range than double, and 64 bits");
  static constexpr int kBits = Real::kBits;
  static constexpr int kLeastGrid = -14000;
  static constexpr long double kUnit = 0x1p-190L;
  static constexpr long double kLeast = 0x1p-14990L;

  static int exponent(const Real& x) {
    return mpfr_zero_p(x.data()) != 0 ? -(1 << 24) : static_cast<int>(mpfr_get_exp(x.data())) - 1;
  }
  static int grid(const Real& x) {
    int below = static_cast<int>(x.limbs().size()) * 64;
    for (const mp_limb_t limb : x.limbs()) {
      if (limb != 0) return exponent(x) + 1 - below + std::countr_zero(limb);
      below -= 64;
    }
    return kLeastGrid;
  }
  static bool finite(const Real& x) { return is_finite(x); }
  static bool nan(const Real& x) { return is_nan(x); }
  static bool negative(const Real& x) { return is_negative(x); }
  static long double size(const Real& x) {
    return magnitude(x, std::ranges::any_of(lower(x), [](mp_limb_t limb) { return limb != 0; }) ? 1 : 0);
  }
  static long double least_size(const Real& x) { return magnitude(x, 0); }
  static long double signed_size(const Real& x) { return is_negative(x) ? -least_size(x) : least_size(x); }
  static long double residual(const Real&, const Real&, const Real& s) { return size(s) * kUnit; }
  static Real limited(const Real& x) {
    if (mpfr_regular_p(x.data()) == 0 || std::abs(exponent(x)) < kLimit) return x;
    const double sign = is_negative(x) ? -1 : 1;
    return Real(exponent(x) > 0 ? sign * std::numeric_limits<double>::infinity() : sign * 0.0);
  }
  static Real to_value(long double bound) { return Real(bound); }
  static long double power(int k) { return std::ldexp(1.0L, k); }

 private:
  static constexpr int kLimit = 15000;
  static std::span<const mp_limb_t> lower(const Real& x) { return x.limbs().first(x.limbs().size() - 1); }
  // |x| without what its highest limb, 64 bits like a long double's significand, does not have; plus units of that.
  static long double magnitude(const Real& x, int units) {
    if (mpfr_regular_p(x.data()) == 0)
      return mpfr_zero_p(x.data()) != 0 ? 0 : std::fabs(mpfr_get_d(x.data(), MPFR_RNDN));
    const long double first = static_cast<long double>(x.limbs().back()) + static_cast<long double>(units);
    return std::ldexp(first, exponent(x) - 63);
  }
};

// Of either sign.
template <class V>
bool is_power_of_two(const V& x) {
  using C = Carrier<V>;
  return C::finite(x) && x != V{} && C::grid(x) == C::exponent(x);
}

}  // namespace assay
