// Elementary functions of vectors. Compiled for each level. exp is here, the others stand in elementary_*.h.
//
// exp: x = n ln2 + r with n an integer and |r| <= ln2 / 2, exp(x) = 2^n p(r). ln2 is cut into a part of few
// bits, whose product with n is exact, and a rest (Cody and Waite), so r has about one rounding of error, a
// fifth of the result's unit. p is 1 + r + r^2 q(r) with the minimax q for the relative error of the whole
// (Remez), 0.05 units at most. 2^n comes in last and rounds subnormal results once; nothing is flushed to
// zero. Overflow gives infinity, NaN stays NaN.
//
// The largest errors, over all f32 and over a dense sample of f64, are measured by
// test/cpu_elementary_test.cpp, which fails when they grow; contracts.h states them.
#include "hwy/highway.h"

#if defined(ASSAY_CPU_ELEMENTARY_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_H
#undef ASSAY_CPU_ELEMENTARY_H
#else
#define ASSAY_CPU_ELEMENTARY_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// c[0] x^n + ... + c[n], by Horner's rule.
template <class D, class T, std::size_t terms>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const T (&c)[terms]) {
  auto p = hn::Set(d, c[0]);
  for (std::size_t i = 1; i < terms; ++i) p = hn::MulAdd(p, x, hn::Set(d, c[i]));
  return p;
}

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr int fraction_bits = 23;
  static constexpr std::uint32_t bias = 127;
  static constexpr float round = 0x1.8p23f;  // added and subtracted, rounds to an integer
  static constexpr std::uint32_t round_bits = 0x4B400000;
  static constexpr float log2e = 0x1.715476p0f;
  static constexpr float ln2_upper = 0x1.63p-1f;  // 9 bits
  static constexpr float ln2_lower = -0x1.bd0106p-13f;
  static constexpr float lowest = -104.0f;  // exp is below half the smallest subnormal number
  static constexpr float highest = 89.0f;   // exp is above the largest number
  static constexpr float p[] = {
      0.00138145986f, 0.00836871688f, 0.0416683880f, 0.166665206f, 0.499999934f, 1, 1};
};

template <>
struct ExpConstants<double> {
  static constexpr int fraction_bits = 52;
  static constexpr std::uint64_t bias = 1023;
  static constexpr double round = 0x1.8p52;
  static constexpr std::uint64_t round_bits = 0x4338000000000000;
  static constexpr double log2e = 0x1.71547652b82fep0;
  static constexpr double ln2_upper = 0x1.62e42feep-1;  // 32 bits
  static constexpr double ln2_lower = 0x1.a39ef35793c76p-33;
  static constexpr double lowest = -746.0;
  static constexpr double highest = 710.0;
  static constexpr double p[] = {0x1.ad7f6f0799ee2p-26,
                                 0x1.28ad72cc30daap-22,
                                 0x1.71df2552390c2p-19,
                                 0x1.a0199a0c677acp-16,
                                 0x1.a01a012a57b51p-13,
                                 0x1.6c16c1842a11dp-10,
                                 0x1.1111111127be5p-7,
                                 0x1.555555555087cp-5,
                                 0x1.55555555554fap-3,
                                 0x1.000000000000ap-1,
                                 1,
                                 1};
};

// v 2^n for an integer n, given as such and as n + K::round; -2 bias < n < 2 bias. Rounds once.
template <class D>
HWY_INLINE hn::Vec<D> scale(D d, hn::Vec<D> v, [[maybe_unused]] hn::Vec<D> n, hn::Vec<D> n_rounding) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_AVX3
  static_cast<void>(d);
  static_cast<void>(n_rounding);
  if constexpr (sizeof(T) == 4)
    return hn::Vec<D>{_mm512_scalef_ps(v.raw, n.raw)};
  else
    return hn::Vec<D>{_mm512_scalef_pd(v.raw, n.raw)};
#else
  // 2^n may be out of range, so it comes in two factors of about half the exponent, the first of which is
  // exact. The sum with K::round holds n in its lowest bits.
  using K = ExpConstants<T>;
  const hn::RebindToUnsigned<D> du;
  const auto twice_biased = hn::Sub(hn::BitCast(du, n_rounding), hn::Set(du, K::round_bits - 2 * K::bias));
  const auto first = hn::ShiftRight<1>(twice_biased);
  const auto second = hn::Sub(twice_biased, first);
  return hn::Mul(hn::Mul(v, hn::BitCast(d, hn::ShiftLeft<K::fraction_bits>(first))),
                 hn::BitCast(d, hn::ShiftLeft<K::fraction_bits>(second)));
#endif
}

// exp(r) 2^n for |r| <= ln2 / 2, n given as in scale().
template <class D>
HWY_INLINE hn::Vec<D> exp_from(D d, hn::Vec<D> r, hn::Vec<D> n, hn::Vec<D> n_rounding) {
  using K = ExpConstants<hn::TFromD<D>>;
  constexpr std::size_t terms = sizeof(K::p) / sizeof(K::p[0]);
  auto p = hn::Set(d, K::p[0]);
  for (std::size_t i = 1; i < terms - 2; ++i) p = hn::MulAdd(p, r, hn::Set(d, K::p[i]));
#if HWY_NATIVE_FMA
  p = hn::MulAdd(p, r, hn::Set(d, K::p[terms - 2]));
  p = hn::MulAdd(p, r, hn::Set(d, K::p[terms - 1]));
#else
  // A rounding of p r, with p near 1, would cost more than one of p r^2, with p near 1/2.
  p = hn::Add(hn::Add(hn::Mul(hn::Mul(r, r), p), r), hn::Set(d, K::p[terms - 1]));
#endif
  return scale(d, p, n, n_rounding);
}

// exp(x); with `not_positive` the caller promises x <= 0 or NaN.
template <bool not_positive = false, class D>
HWY_INLINE hn::Vec<D> exp(D d, hn::Vec<D> x) {
  using K = ExpConstants<hn::TFromD<D>>;
  // Selects, not Min and Max: those drop NaN or not, as the target pleases.
  const auto lowest = hn::Set(d, K::lowest), highest = hn::Set(d, K::highest);
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  if constexpr (!not_positive) x = hn::IfThenElse(hn::Gt(x, highest), highest, x);
  const auto round = hn::Set(d, K::round);
  const auto n_rounding = hn::MulAdd(x, hn::Set(d, K::log2e), round);
  const auto n = hn::Sub(n_rounding, round);
  auto r = hn::NegMulAdd(n, hn::Set(d, K::ln2_upper), x);
  r = hn::NegMulAdd(n, hn::Set(d, K::ln2_lower), r);
  return exp_from(d, r, n, n_rounding);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
