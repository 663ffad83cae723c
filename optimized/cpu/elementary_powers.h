// exp2, log2, pow and fmod of vectors. Compiled for each level.
//
// exp2: x = n + r with |r| <= 1/2, and exp(r ln2) as elementary.h has it; r ln2 is rounded twice, of 0.35 at most: 0.3 units of the
// result more than exp.
//
// log2: of doubles n + log(1 + f) / ln2 as in elementary_log.h; the product with 1 / ln2, in two parts, and the sum keep what they
// round off, without fused multiply-adds except in the product, 0.5 more. The error of log, 0.85, may be of a unit twice as large
// after the product: 1.7 and 0.5 for the last sum, 2.3, and 2.8. Floats are computed in double.
//
// pow: of floats exp2(y log2(|x|)) in double, where the exponent errs by less than 2^-42; signs and special values as IEEE 754 has them
// (9.2.1). Doubles are left to the C library, which errs by 1 unit at most (glibc manual, "Known Maximum Errors in Math Functions").
//
// fmod: x - trunc(x / y) y, which is exact where the quotient has few enough bits, and by the C library elsewhere. A quotient that was
// rounded up to an integer is corrected.
#include "elementary_log.h"
#include "elementary_wide.h"

#if defined(ASSAY_CPU_ELEMENTARY_POWERS_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_POWERS_H
#undef ASSAY_CPU_ELEMENTARY_POWERS_H
#else
#define ASSAY_CPU_ELEMENTARY_POWERS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> exp2(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using K = ExpConstants<T>;
  const auto lowest = hn::Set(d, T(sizeof(T) == 4 ? -151 : -1076)),
             highest = hn::Set(d, T(sizeof(T) == 4 ? 128 : 1024));
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  x = hn::IfThenElse(hn::Gt(x, highest), highest, x);
  const auto round = hn::Set(d, K::round), n_rounding = hn::Add(x, round), n = hn::Sub(n_rounding, round);
  const auto r = hn::Mul(hn::Sub(x, n), hn::Set(d, static_cast<T>(0.693147180559945309417L)));
  return exp_from(d, r, n, n_rounding);
}

struct Log2OfDoubles {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V upper = hn::Set(d, 0x1.71547652b82fep0), lower = hn::Set(d, 0x1.777d0ffda0d24p-56);
    LogParts<D> parts = normal_parts(d, x);
    const V n = parts.n;
    parts.n = hn::Zero(d);
    const V l = log_from(d, parts, hn::Zero(d)), product = hn::Mul(l, upper);
#if HWY_NATIVE_FMA
    V lost = hn::MulAdd(l, lower, hn::MulSub(l, upper, product));
#else
    V lost = hn::Mul(l, lower);
#endif
    const V sum = hn::Add(n, product);  // n is 0, or the larger
    lost = hn::Add(lost, hn::Add(hn::Sub(n, sum), product));
    return at_ends_of_log(d, x, hn::Add(sum, lost));
  }
};

template <class D>
HWY_INLINE hn::Vec<D> log2(D d, hn::Vec<D> x) {
  return in_double(d, Log2OfDoubles{}, x);
}

struct PowOfFloats {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V a = hn::Abs(x), one = hn::Set(d, 1.0), zero = hn::Zero(d);
    const V power = exp2(d, hn::Mul(y, Log2OfDoubles{}(d, a)));
    const V half = hn::Mul(y, hn::Set(d, 0.5));
    const auto integer = hn::Eq(hn::Round(y), y);
    const auto odd = hn::And(integer, hn::Ne(hn::Round(half), half));
    V result = hn::IfThenElse(hn::And(hn::Eq(a, one), hn::Eq(y, y)), one, power);
    const auto none = hn::And(hn::And(hn::Lt(x, zero), hn::IsFinite(x)), hn::Not(integer));
    result = hn::IfThenElse(none, hn::NaN(d), result);
    result = hn::IfThenElse(odd, hn::CopySign(result, x), result);
    return hn::IfThenElse(hn::Or(hn::Eq(x, one), hn::Eq(y, zero)), one, result);
  }
};

template <class D>
HWY_INLINE hn::Vec<D> pow(D d, hn::Vec<D> x, hn::Vec<D> y) {
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return in_double(d, PowOfFloats{}, x, y);
  else
    return by_library(
        d, hn::FirstN(d, hn::Lanes(d)), x, [](double a, double b) { return ::pow(a, b); }, x, y);
}

// `bits`: of a product of y and a quotient that are exact, as doubles.
template <bool of_floats>
struct FmodOfDoubles {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V a = hn::Abs(x), b = hn::Abs(y);
    // Products of 24 and 29 bits are exact; of doubles only fused ones are.
    const V most = hn::Set(d, of_floats ? 0x1p29 : HWY_NATIVE_FMA ? 0x1p52 : 1.0);
    const V quotient = hn::Div(a, b);
    const auto simple = hn::And(hn::Lt(quotient, most), hn::Lt(b, hn::Set(d, HUGE_VAL)));
    V r = hn::NegMulAdd(hn::Trunc(quotient), b, a);
    r = hn::IfThenElse(hn::Lt(r, hn::Zero(d)), hn::Add(r, b), r);
    return by_library(
        d, hn::Not(simple), hn::CopySignToAbs(r, x), [](double m, double n) { return ::fmod(m, n); }, x, y);
  }
};

template <class D>
HWY_INLINE hn::Vec<D> fmod(D d, hn::Vec<D> x, hn::Vec<D> y) {
  return in_double(d, FmodOfDoubles<sizeof(hn::TFromD<D>) == 4>{}, x, y);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
