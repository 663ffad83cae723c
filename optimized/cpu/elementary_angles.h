// sin, cos and atan of vectors, and atan2. Compiled for each level. Floats are computed in double.
//
// sin, cos: x = n pi/2 + r with |r| <= pi/4. pi/2 is cut into three parts of 33 bits, whose products with n < 2^20 are exact, and a
// rest; what differences round off is kept (TwoSum, Knuth), so that r comes in two parts, also where x is next to a multiple of
// pi/2. Polynomials in r and the way they are added up are fdlibm's (k_sin.c, k_cos.c). Beyond 2^20 the C library is asked, lane by
// lane: it has the hundreds of bits of 2/pi that this takes (Payne and Hanek).
//
// atan: |x| is brought below tan(pi/8) by 1/x, or by (x - 1) / (x + 1) (Cephes), with one division; then x + x^3 P(x^2), P minimax,
// below 2^-59.
//
// Estimates for doubles, in units of the result: sin and cos 0.5 for the last sum, 0.3 for the rest: 0.8. atan: 0.5 for the last sum,
// and where |x| is a bit above tan(pi/8) 0.5 for each of numerator, denominator and quotient, of a quotient as large as the result:
// 2.1. For floats all of that is below 2^-28.
#include "elementary_wide.h"

#if defined(ASSAY_CPU_ELEMENTARY_ANGLES_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_ANGLES_H
#undef ASSAY_CPU_ELEMENTARY_ANGLES_H
#else
#define ASSAY_CPU_ELEMENTARY_ANGLES_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

namespace angles {

inline constexpr double kFar = 0x1p20;
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kHalfPi[] = {0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                                     0x1.b839a252049c1p-104};
inline constexpr double kSine[] = {1.58969099521155010221e-10, -2.50507602534068634195e-08,
                                   2.75573137070700676789e-06, -1.98412698298579493134e-04,
                                   8.33333333332248946124e-03, -1.66666666666666324348e-01};
inline constexpr double kCosine[] = {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                                     -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                                     -1.38888888888741095749e-03, 4.16666666666666019037e-02};
inline constexpr double kTangent8 = 0.41421356237309504880,
                        kTangent38 = 2.4142135623730950488;  // of pi/8, 3 pi/8
inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1, kQuarterPiLower = 0x1.1a62633145c07p-55;
inline constexpr double kAtan[] = {0x1.0a997ba33c1dbp-6,  -0x1.1b1992aa413c9p-5, 0x1.74d3a7b43351ap-5,
                                   -0x1.ac7858539e493p-5, 0x1.e199c62156609p-5,  -0x1.110e84aa36d9dp-4,
                                   0x1.3b1392a9c2d8bp-4,  -0x1.745d165c497f3p-4, 0x1.c71c71c2fc236p-4,
                                   -0x1.249249248d739p-3, 0x1.9999999999952p-3,  -0x1.5555555555555p-2};

// a - b, and what that rounds off, in `lost`.
template <class V>
HWY_INLINE V difference(V a, V b, V& lost) {
  const V s = hn::Sub(a, b), back = hn::Sub(a, s);
  lost = hn::Add(lost, hn::Add(hn::Sub(a, hn::Add(s, back)), hn::Sub(back, b)));
  return s;
}

}  // namespace angles

template <bool cosine>
struct SineOfDoubles {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using K = ExpConstants<double>;
    const hn::RebindToUnsigned<D> du;
    const auto far = hn::Not(hn::Lt(hn::Abs(x), hn::Set(d, angles::kFar)));
    const V given = x;
    x = hn::IfThenZeroElse(far, x);
    const V round = hn::Set(d, K::round), n_rounding = hn::MulAdd(x, hn::Set(d, angles::kTwoOverPi), round);
    const V n = hn::Sub(n_rounding, round);
    const auto part = [&](int k) HWY_ATTR { return hn::Mul(n, hn::Set(d, angles::kHalfPi[k])); };
    V lost = hn::Zero(d);
    V r = hn::Sub(x, part(0));
    r = angles::difference(r, part(1), lost);
    r = angles::difference(r, part(2), lost);
    lost = hn::Sub(lost, part(3));
    const V upper = hn::Add(r, lost), lower = hn::Add(hn::Sub(r, upper), lost);

    const V z = hn::Mul(upper, upper), half = hn::Mul(z, hn::Set(d, 0.5)), one = hn::Set(d, 1.0);
    const V straight = hn::Sub(one, half);
    const V tail = hn::MulAdd(lower, straight, hn::Mul(hn::Mul(upper, z), polynomial(d, z, angles::kSine)));
    const V sine = hn::Add(upper, tail);
    const V small = hn::NegMulAdd(upper, lower, hn::Mul(hn::Mul(z, z), polynomial(d, z, angles::kCosine)));
    const V other = hn::Add(straight, hn::Add(hn::Sub(hn::Sub(one, straight), half), small));

    const auto quadrant = hn::Add(hn::BitCast(du, n_rounding), hn::Set(du, cosine ? 1u : 0u));
    const auto odd = hn::Ne(hn::And(quadrant, hn::Set(du, 1u)), hn::Zero(du));
    const V sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(quadrant, hn::Set(du, 2u))));
    V y = hn::Xor(hn::IfThenElse(hn::RebindMask(d, odd), other, sine), sign);
    if constexpr (!cosine) y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // -0
    return by_library(
        d, far, y, [](double w) { return cosine ? ::cos(w) : ::sin(w); }, given);
  }
};

template <class D>
HWY_INLINE hn::Vec<D> sin(D d, hn::Vec<D> x) {
  return in_double(d, SineOfDoubles<false>{}, x);
}
template <class D>
HWY_INLINE hn::Vec<D> cos(D d, hn::Vec<D> x) {
  return in_double(d, SineOfDoubles<true>{}, x);
}

struct AtanOfDoubles {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V a = hn::Abs(x), one = hn::Set(d, 1.0), quarter = hn::Set(d, angles::kQuarterPi);
    const auto large = hn::Gt(a, hn::Set(d, angles::kTangent38));
    const auto small = hn::Not(hn::Gt(a, hn::Set(d, angles::kTangent8)));  // or NaN
    const V over = hn::IfThenElse(small, a, hn::IfThenElse(large, hn::Neg(one), hn::Sub(a, one)));
    const V q = hn::Div(over, hn::IfThenElse(small, one, hn::IfThenElse(large, a, hn::Add(a, one))));
    const V z = hn::Mul(q, q), tail = hn::Mul(hn::Mul(q, z), polynomial(d, z, angles::kAtan));
    const V base = hn::IfThenZeroElse(small, hn::IfThenElse(large, hn::Add(quarter, quarter), quarter));
    const V rest = hn::Mul(base, hn::Set(d, angles::kQuarterPiLower / angles::kQuarterPi));
    return hn::CopySignToAbs(hn::Add(base, hn::Add(q, hn::Add(tail, rest))), x);
  }
};

template <class D>
HWY_INLINE hn::Vec<D> atan(D d, hn::Vec<D> x) {
  return in_double(d, AtanOfDoubles{}, x);
}

// Of floats: their quotient as doubles has no error that a float would show, and neither over- nor underflows. Doubles are left to
// the C library.
struct Atan2OfFloats {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V x) const {
    const V a = hn::Abs(y), b = hn::Abs(x), zero = hn::Zero(d), half_pi = hn::Set(d, 2 * angles::kQuarterPi);
    const V one = hn::Set(d, 1.0);
    const auto both_infinite = hn::And(hn::IsInf(a), hn::IsInf(b));
    V q = hn::IfThenElse(both_infinite, one, hn::Div(a, b));
    q = hn::IfThenZeroElse(hn::And(hn::Eq(a, zero), hn::Eq(b, zero)), q);
    V angle = AtanOfDoubles{}(d, q);
    const auto left = hn::MaskFromVec(hn::BroadcastSignBit(hn::BitCast(hn::RebindToSigned<D>(), x)));
    angle = hn::IfThenElse(hn::RebindMask(d, left), hn::Sub(hn::Add(half_pi, half_pi), angle), angle);
    return hn::CopySignToAbs(angle, y);
  }
};

template <class D>
HWY_INLINE hn::Vec<D> atan2(D d, hn::Vec<D> y, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return in_double(d, Atan2OfFloats{}, y, x);
  else
    return by_library(
        d, hn::FirstN(d, hn::Lanes(d)), y, [](double b, double a) { return ::atan2(b, a); }, y, x);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
