// The error function of vectors. Compiled for each level.
//
// erf(x) = x + x p(x^2) for small |x|, else 1 - exp(-q(|x|)) with q near -log(erfc), and 1 where that is 1
// (the form of N. Juffa's erff). p is a minimax polynomial for the relative error of the whole; q is one for
// its error times erfc, which is what it costs: both below 0.05 units of the result.
//
// Estimate, in units of the result: 0.5 for the last sum. Where |x| is near 1, p(x^2) is a sixth of the result and the
// roundings of Horner's rule cost 0.6, and 1 without fused multiply-adds; q is 1.85 there, half a unit of it and as
// much of exp's, times erfc = 0.16, cost 0.6: 1.2, and 1.6.
#include "elementary.h"

#if defined(ASSAY_CPU_ELEMENTARY_ERF_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_ERF_H
#undef ASSAY_CPU_ELEMENTARY_ERF_H
#else
#define ASSAY_CPU_ELEMENTARY_ERF_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

template <class T>
struct ErfConstants;

template <>
struct ErfConstants<float> {
  static constexpr float small = 1;
  static constexpr float one = 4;  // erf rounds to 1
  static constexpr float p[] = {-0x1.fef07p-18f, 0x1.b5153ap-14f, -0x1.b598aep-11f, 0x1.556f62p-8f,
                                -0x1.b81662p-6f, 0x1.ce2e16p-4f,  -0x1.812742p-2f,  0x1.06eba8p-3f};
  static constexpr float q[] = {-0x1.853474p-13f, 0x1.815134p-9f, -0x1.654448p-6f, 0x1.a60b9ep-4f,
                                0x1.46c55cp-1f,   0x1.2085bep0f,  0x1.72b8d6p-12f};
};

template <>
struct ErfConstants<double> {
  static constexpr double small = 1.0625;
  static constexpr double one = 6;
  static constexpr double p[] = {-0x1.dc78df11b48acp-39, 0x1.62c561dbe4e68p-34,  -0x1.4870bc27fbc5fp-30,
                                 0x1.fad2085a488d9p-27,  -0x1.5f5125cbce221p-23, 0x1.b9e3794d4a66ep-20,
                                 -0x1.f4d2283b31632p-17, 0x1.f9a3252bab1c4p-14,  -0x1.c02db3fca9d28p-11,
                                 0x1.565bcd0ecdfc5p-8,   -0x1.b82ce3129122cp-6,  0x1.ce2f21a043053p-4,
                                 -0x1.812746b0379f6p-2,  0x1.06eba8214db69p-3};
  static constexpr double q[] = {0x1.11f8ac45f79p-38,    -0x1.6818e92ca462p-33,  0x1.b673e5a341b5fp-29,
                                 -0x1.46d38b7fc0d1ap-25, 0x1.4af6a5e2c515ap-22,  -0x1.d9e368e9e03e7p-20,
                                 0x1.da5e9b5eb52b9p-18,  -0x1.25336cf8b84acp-16, 0x1.a2bb513db0ba5p-18,
                                 0x1.581d7f636696cp-13,  -0x1.ace7a3dac8adbp-11, 0x1.03180b56a1967p-9,
                                 -0x1.ede61fb61f12fp-12, -0x1.3663941c71554p-6,  0x1.a491f6c9e72fcp-4,
                                 0x1.45f769fcaede5p-1,   0x1.20dcf9cdcf5p0,      0x1.933b585cee37ap-21};
};

template <class D>
HWY_INLINE hn::Vec<D> erf(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  using K = ErfConstants<T>;
  const auto a = hn::Abs(x);
  const auto small = hn::MulAdd(polynomial(d, hn::Mul(x, x), K::p), x, x);
  const auto one = hn::Set(d, K::one);
  const auto q = polynomial(d, hn::IfThenElse(hn::Gt(a, one), one, a), K::q);
  const auto large = hn::Sub(hn::Set(d, T{1}), exp<true>(d, hn::Neg(q)));
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, K::small)), small, hn::CopySignToAbs(large, x));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
