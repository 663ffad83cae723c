// The arc cosine and the arc sine of vectors. Compiled for each level.
//
// With w = asin(s) - s = s z R(z) and z = s^2: for |x| <= 1/2, s = x and acos(x) = pi/2 - (s + w); else
// s = sqrt((1 - |x|) / 2), and acos(x) = 2 (s + w), or pi minus that for negative x (fdlibm's e_acos.c). R is
// the minimax polynomial for its relative error on [0, 1/4], 2^-24 for f32 and 2^-52 for f64; w is below a
// twentieth of s. Beyond 1 the root, and so the result, is NaN.
//
// Estimate, in units of the result: 0.5 for the last sum, 0.5 for the root, 0.1 for w: 1.1; 0.6 without the root.
#include "elementary.h"

#if defined(ASSAY_CPU_ELEMENTARY_ACOS_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_ACOS_H
#undef ASSAY_CPU_ELEMENTARY_ACOS_H
#else
#define ASSAY_CPU_ELEMENTARY_ACOS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

template <class T>
struct AcosConstants;

template <>
struct AcosConstants<float> {
  static constexpr float half_pi_upper = 0x1.921fb6p0f, half_pi_lower = -0x1.777a5cp-25f;
  static constexpr float r[] = {0x1.1a275ap-5f, 0x1.10aa1ap-6f, 0x1.ff94e2p-6f,
                                0x1.6d403p-5f,  0x1.3334c8p-4f, 0x1.555554p-3f};
};

template <>
struct AcosConstants<double> {
  static constexpr double half_pi_upper = 0x1.921fb54442d18p0, half_pi_lower = 0x1.1a62633145c07p-54;
  static constexpr double r[] = {0x1.da7172b065d96p-6, -0x1.f09b5e421e79bp-7, 0x1.206774b4dde89p-6,
                                 0x1.60969c01c58ap-8,  0x1.52e0a90019e77p-7,  0x1.780c98e3454a8p-7,
                                 0x1.c9d1d543514e9p-7, 0x1.1c4d1bc21a9bap-6,  0x1.6e8bb3008688cp-6,
                                 0x1.f1c71c14ca8aep-6, 0x1.6db6db6e43b1ap-5,  0x1.3333333332dccp-4,
                                 0x1.5555555555556p-3};
};

template <class D>
HWY_INLINE hn::Vec<D> acos(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using K = AcosConstants<T>;
  const auto half = hn::Set(d, T(0.5));
  const auto a = hn::Abs(x);
  const auto inner = hn::Le(a, half);
  const auto z = hn::IfThenElse(inner, hn::Mul(x, x), hn::NegMulAdd(a, half, half));
  const auto s = hn::IfThenElse(inner, x, hn::Sqrt(z));
  const auto w = hn::Mul(hn::Mul(s, z), polynomial(d, z, K::r));
  // pi/2 - (s + w), which outside is half of the result for negative x.
  const auto upper = hn::Set(d, K::half_pi_upper), lower = hn::Set(d, K::half_pi_lower);
  const auto complement = hn::Sub(upper, hn::Add(s, hn::Sub(w, lower)));
  const auto outer = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), complement, hn::Add(s, w));
  return hn::IfThenElse(inner, complement, hn::Add(outer, outer));
}

// The same s and w: s + w inside, and outside pi/2 - 2 (s + w) as pi/4 - (2 w - (pi/4 - 2 s)), with the sign of x. The inner
// difference is exact, or small beside the result. Estimate, in units of the result, which is 0.52 at least outside: 0.5 each for
// the last sum and for the root, 0.25 for the sum before, 0.1 for w: 1.4.
template <class D>
HWY_INLINE hn::Vec<D> asin(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using K = AcosConstants<T>;
  const auto half = hn::Set(d, T(0.5));
  const auto a = hn::Abs(x);
  const auto inner = hn::Le(a, half);
  const auto z = hn::IfThenElse(inner, hn::Mul(x, x), hn::NegMulAdd(a, half, half));
  const auto s = hn::IfThenElse(inner, a, hn::Sqrt(z));
  const auto w = hn::Mul(hn::Mul(s, z), polynomial(d, z, K::r));
  const auto quarter_pi = hn::Set(d, K::half_pi_upper / 2);
  const auto rest = hn::Sub(quarter_pi, hn::Add(s, s));
  const auto small = hn::Sub(hn::Add(w, w), hn::Set(d, K::half_pi_lower));
  const auto y = hn::IfThenElse(inner, hn::Add(s, w), hn::Sub(quarter_pi, hn::Sub(small, rest)));
  return hn::CopySignToAbs(y, x);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
