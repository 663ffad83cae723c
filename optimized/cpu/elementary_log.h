// Logarithms of vectors. Compiled for each level.
//
// x = 2^n (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) = f - (f^2/2 - s (f^2/2 + R)) with
// s = f / (2 + f) and R = s^2 Q(s^2), the tail of the series of log((1 + s) / (1 - s)): fdlibm's arrangement
// (e_log.c), in which every rounding but the last is of a number that is small beside the result. Q is the
// minimax polynomial for its relative error, below 2^-25 for f32 and 2^-54 for f64. n ln2 comes in two parts,
// and its sum with f keeps what it rounds off.
//
// Estimate, in units of the result: 0.5 for the last sum; f^2/2 is at most a quarter of the result, so an eighth
// each for it and for the inner sum; 0.1 for s, R and ln2: 0.85.
#include "elementary.h"

#if defined(ASSAY_CPU_ELEMENTARY_LOG_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_LOG_H
#undef ASSAY_CPU_ELEMENTARY_LOG_H
#else
#define ASSAY_CPU_ELEMENTARY_LOG_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

template <class T>
struct LogConstants;

template <>
struct LogConstants<float> {
  static constexpr std::uint32_t one = 0x3F800000;
  static constexpr std::uint32_t sqrt_half = 0x3F3504F3;
  static constexpr float q[] = {0x1.ce5a28p-3f, 0x1.24c21cp-2f, 0x1.99986cp-2f, 0x1.555556p-1f};
};

template <>
struct LogConstants<double> {
  static constexpr std::uint64_t one = 0x3FF0000000000000;
  static constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCD;
  static constexpr double q[] = {0x1.1023d3248effbp-3, 0x1.0f4a12e9b5ea1p-3, 0x1.3b215947e8103p-3,
                                 0x1.745cdb74d17c7p-3, 0x1.c71c725c5f78cp-3, 0x1.249249242ee18p-2,
                                 0x1.9999999999d59p-2, 0x1.5555555555555p-1};
};

template <class D>
struct LogParts {
  hn::Vec<D> n, f;  // x = 2^n (1 + f)
};

// Of a positive normal number.
template <class D>
HWY_INLINE LogParts<D> log_parts(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using E = ExpConstants<T>;
  using K = LogConstants<T>;
  const hn::RebindToUnsigned<D> du;
  const auto moved = hn::Add(hn::BitCast(du, x), hn::Set(du, K::one - K::sqrt_half));
  const auto biased = hn::ShiftRight<E::fraction_bits>(moved);
  const auto n =
      hn::Sub(hn::BitCast(d, hn::Add(biased, hn::Set(du, E::round_bits - E::bias))), hn::Set(d, E::round));
  const auto fraction = hn::Sub(moved, hn::ShiftLeft<E::fraction_bits>(biased));
  const auto m = hn::BitCast(d, hn::Add(fraction, hn::Set(du, K::sqrt_half)));
  return {n, hn::Sub(m, hn::Set(d, T{1}))};
}

// n ln2 + log(1 + f) + small.
template <class D>
HWY_INLINE hn::Vec<D> log_from(D d, const LogParts<D>& x, hn::Vec<D> small) {
  using T = hn::TFromD<D>;
  using E = ExpConstants<T>;
  const auto half_square = hn::Mul(hn::Mul(x.f, hn::Set(d, T(0.5))), x.f);
  const auto s = hn::Div(x.f, hn::Add(x.f, hn::Set(d, T{2})));
  const auto z = hn::Mul(s, s);
  const auto r = hn::Mul(z, polynomial(d, z, LogConstants<T>::q));
  small = hn::MulAdd(x.n, hn::Set(d, E::ln2_lower), small);
  small = hn::MulAdd(s, hn::Add(half_square, r), small);
  const auto upper = hn::Mul(x.n, hn::Set(d, E::ln2_upper));  // exact, and 0 or larger than f
  const auto sum = hn::Add(upper, x.f);
  const auto lost = hn::Add(hn::Sub(upper, sum), x.f);
  return hn::Add(sum, hn::Add(lost, hn::Sub(small, half_square)));
}

// Of a positive number, which may be subnormal.
template <class D>
HWY_INLINE LogParts<D> normal_parts(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using E = ExpConstants<T>;
  const auto subnormal = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  constexpr int shift = E::fraction_bits + 2;
  const auto scaled = hn::Mul(x, hn::Set(d, static_cast<T>(std::int64_t{1} << shift)));
  LogParts<D> parts = log_parts(d, hn::IfThenElse(subnormal, scaled, x));
  parts.n = hn::Sub(parts.n, hn::IfThenElseZero(subnormal, hn::Set(d, T{shift})));
  return parts;
}

// y, or what the logarithm of a number is that is not positive and finite.
template <class D>
HWY_INLINE hn::Vec<D> at_ends_of_log(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  y = hn::IfThenElse(hn::Lt(x, infinity), y, x);  // infinity, NaN
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), y);
}

template <class D>
HWY_INLINE hn::Vec<D> log(D d, hn::Vec<D> x) {
  return at_ends_of_log(d, x, log_from(d, normal_parts(d, x), hn::Zero(d)));
}

// log(1 + x) for x > -1 or NaN; of -0, 0. What 1 + x rounds off comes in as its share of the sum (W. Kahan; fdlibm's
// s_log1p.c).
template <class D>
HWY_INLINE hn::Vec<D> log1p(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  const auto one = hn::Set(d, T{1});
  const auto sum = hn::Add(x, one);
  LogParts<D> parts = log_parts(d, sum);
  const auto lost =
      hn::IfThenElse(hn::Lt(x, one), hn::Sub(x, hn::Sub(sum, one)), hn::Sub(one, hn::Sub(sum, x)));
  const auto as_it_is = hn::Eq(parts.n, hn::Zero(d));
  parts.f = hn::IfThenElse(as_it_is, x, parts.f);
  const auto y = log_from(d, parts, hn::IfThenElse(as_it_is, hn::Zero(d), hn::Div(lost, sum)));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, std::numeric_limits<T>::infinity())), y, x);
}

// log(1 + x) for any x.
template <class D>
HWY_INLINE hn::Vec<D> log1p_anywhere(D d, hn::Vec<D> x) {
  const auto y = at_ends_of_log(d, hn::Add(x, hn::Set(d, hn::TFromD<D>{1})), log1p(d, x));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // -0
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
