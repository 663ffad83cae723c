// expm1 and tanh of vectors. Compiled for each level.
//
// x = n ln2 + r as for exp (elementary.h), but with what r rounds off, and exp(x) - 1 = 2^n (u + r + tail)
// with u = 1 - 2^-n and tail = exp(r) - 1 - r. u + r keeps what it rounds off, too, so that expm1 has little
// error beside its last rounding.
//
// tanh(x) = e / (e + 2) with e = exp(2 |x|) - 1, numerator and denominator in two parts each.
//
// Estimates, in units of the result: expm1 is worst where n = 1 and r is near -0.35, with 0.21 = u + r + tail: 0.5
// for the last sum, 0.4 for the products of the tail, 0.2 each for its polynomial and the inner sum, 1.3. tanh: 0.5
// for the last sum, 0.4 for e, and without fused multiply-adds, where the quotient's rest is unknown, 0.5 more: 1.5.
#include "elementary.h"

#if defined(ASSAY_CPU_ELEMENTARY_TANH_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_TANH_H
#undef ASSAY_CPU_ELEMENTARY_TANH_H
#else
#define ASSAY_CPU_ELEMENTARY_TANH_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// exp(x) - 1 = 2^n (upper + lower), upper being the larger; least = 2^-n.
template <class D>
struct Expm1Parts {
  hn::Vec<D> n, n_rounding, least, upper, lower;
};

// For x that is NaN or not so small that 2^-n overflows.
template <class D>
HWY_INLINE Expm1Parts<D> expm1_parts(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using K = ExpConstants<T>;
  const hn::RebindToUnsigned<D> du;
  Expm1Parts<D> e;
  const auto round = hn::Set(d, K::round);
  e.n_rounding = hn::MulAdd(x, hn::Set(d, K::log2e), round);
  e.n = hn::Sub(e.n_rounding, round);
  const auto first = hn::NegMulAdd(e.n, hn::Set(d, K::ln2_upper), x);
  const auto r = hn::NegMulAdd(e.n, hn::Set(d, K::ln2_lower), first);
  const auto lost = hn::NegMulAdd(e.n, hn::Set(d, K::ln2_lower), hn::Sub(first, r));
  constexpr std::size_t terms = sizeof(K::p) / sizeof(K::p[0]) - 2;
  auto q = hn::Set(d, K::p[0]);
  for (std::size_t i = 1; i < terms; ++i) q = hn::MulAdd(q, r, hn::Set(d, K::p[i]));
  const auto tail = hn::MulAdd(hn::Mul(r, r), q, hn::MulAdd(lost, r, lost));

  // Beyond 2^-fraction_bits, 2^-n is lost beside 1.
  const auto capped = hn::Min(e.n_rounding, hn::Set(d, K::round + T{K::fraction_bits + 8}));
  const auto negated = hn::Sub(hn::Set(du, K::round_bits + K::bias), hn::BitCast(du, capped));
  e.least = hn::BitCast(d, hn::ShiftLeft<K::fraction_bits>(negated));
  const auto u = hn::Sub(hn::Set(d, T{1}), e.least);  // 0, or larger than r
  const auto sum = hn::Add(u, r);
  const auto u_lost = hn::Sub(hn::Sub(hn::Set(d, T{1}), u), e.least);
  const auto small = hn::Add(hn::Add(hn::Sub(u, sum), r), hn::Add(tail, u_lost));
  e.upper = hn::Add(sum, small);
  e.lower = hn::Add(hn::Sub(sum, e.upper), small);
  return e;
}

template <class D>
HWY_INLINE hn::Vec<D> expm1(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using K = ExpConstants<T>;
  // exp(lowest) is lost beside 1.
  const auto lowest = hn::Set(d, T{-K::fraction_bits}), highest = hn::Set(d, K::highest);
  auto bounded = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  bounded = hn::IfThenElse(hn::Gt(bounded, highest), highest, bounded);
  const auto e = expm1_parts(d, bounded);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, scale(d, e.upper, e.n, e.n_rounding));  // -0
}

template <class D>
HWY_INLINE hn::Vec<D> tanh(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  const auto highest = hn::Set(d, T(sizeof(T) == 4 ? 10 : 20));  // tanh rounds to 1
  auto a = hn::Abs(x);
  a = hn::IfThenElse(hn::Gt(a, highest), highest, a);
  const auto e = expm1_parts(d, hn::Add(a, a));
  const auto two = hn::Add(e.least, e.least);
  const auto divisor = hn::Add(e.upper, two);
  const auto lost = hn::Add(hn::Sub(hn::Max(e.upper, two), divisor), hn::Min(e.upper, two));
  const auto divisor_lower = hn::Add(lost, e.lower);
  const auto inverse = hn::Div(hn::Set(d, T{1}), divisor);
#if HWY_NATIVE_FMA
  const auto quotient = hn::Mul(e.upper, inverse);
  const auto rest = hn::Add(hn::NegMulAdd(quotient, divisor, e.upper), e.lower);
#else
  const auto quotient = hn::Div(e.upper, divisor);  // rounded once: its rest is unknown
  const auto rest = e.lower;
#endif
  const auto y = hn::MulAdd(hn::NegMulAdd(quotient, divisor_lower, rest), inverse, quotient);
  return hn::CopySignToAbs(y, x);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
