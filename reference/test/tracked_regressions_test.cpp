// Mistakes that earlier versions of Tracked made, as the adversary found them, or the attempt to prove them.
#include <gtest/gtest.h>

#include "arithmetic_of_test.h"

namespace assay::testing {
namespace {

TEST(TrackedRegression, ACancelledPartialSumIsNotAZeroToSkip) {
  // 2^24 + 1 rounds: the sum of the first three is 0 in the reference, but -1 or 0 in a kernel.
  const Under under(Dtype::f32);
  const T cancelled = (input(0x1p24) + input(1)) + input(-0x1p24 - 1 - 1) + input(1);
  ASSERT_EQ(cancelled.value, 0);
  const T s = closed(cancelled + input(f(0.1)));
  EXPECT_GE(s.error, 1);
}

TEST(TrackedRegression, TheBoundOfASumIsOfSecondOrder) {
  // Recursive summation with every rounding up reaches (1+u)^(n-1) - 1, which exceeds (n-1) u.
  const Under under(Dtype::bf16, "compute=bf16");
  const int n = 200;
  T s = sum_of(std::vector<T>(n, input(1.0078125)));
  detail::charge_additions(s);
  const double first_order = (n - 2) * 0x1p-8 * s.magnitude;
  EXPECT_GE(s.error, 1.3 * first_order);
  EXPECT_GE(s.error, (std::pow(1 + 0x1p-8, n - 2) - 1) * s.magnitude);
}

TEST(TrackedRegression, AConversionFromAnIntegerIsARounding) {
  const Under under(Dtype::f32);
  EXPECT_EQ(T(std::int64_t{16777216}).error, 0);
  EXPECT_GE(T(std::int64_t{16777217}).error, 1);
  EXPECT_TRUE(finish(T(std::int64_t{16777217})).contains(16777216));
  EXPECT_GE(cast<T>(input(16777217), Dtype::f32).value, 16777216);
  EXPECT_EQ(cast<T>(input(16777217), Dtype::f32).value, 16777216);
}

TEST(TrackedRegression, ExactnessEndsAtTheLeastSubnormal) {
  const Under under(Dtype::f32);
  const double least = 0x1p-149;
  EXPECT_EQ(closed(input(3 * least) * input(1)).error, 0);
  EXPECT_GT(closed(input(3 * least) * input(0.5)).error, 0);  // 1.5 times the least: few bits, but no f32
  const Interval i = finish(sum_of({input(3 * least) * input(0.5), input(least)}));
  EXPECT_TRUE(i.contains(2 * least));  // fused
  EXPECT_TRUE(i.contains(3 * least));  // 1.5 -> 2, + 1
}

TEST(TrackedRegression, ZeroTimesInfinityIsNoErrorTerm) {
  const Under under(Dtype::f32);
  const T p = input(0) * T::anything(1);
  EXPECT_FALSE(std::isnan(p.error));
  EXPECT_TRUE(finish(p).contains(NAN));
  EXPECT_TRUE(finish(p).contains(0));
  const T q = input(0) * input(HUGE_VAL) + input(1);
  EXPECT_TRUE(finish(q).contains(NAN));
  EXPECT_FALSE(finish(q).contains(1));
}

TEST(TrackedRegression, AProductIsRoundedBeforeItEntersANarrowerAccumulator) {
  // Just below the middle of two bf16 numbers: in f32 it is the middle.
  const Under under(Dtype::f32, "accumulate=bf16");
  const double a = 1 + 0x1p-8 - 0x1p-23, b = 1 + 0x1p-23;
  const float product = f(a) * f(b);
  const Interval i = finish(sum_of({input(a) * input(b)}));
  EXPECT_TRUE(i.contains(round_to(static_cast<double>(product), format(Dtype::bf16))));
  T charged = sum_of({input(a) * input(b)});
  detail::charge_additions(charged);
  EXPECT_GT(charged.error, 0x1p-8 * a * b + 0x1p-24);  // both roundings
}

TEST(TrackedRegression, ATermBesideAnInfinityMayBeRoundedToTheOtherOne) {
  // 65504 becomes 65536 in bf16, which is infinite in f16.
  const Under under(Dtype::f16, "compute=bf16 accumulate=f16 multiply=bf16");
  const T s = sum_of({input(-HUGE_VAL) * input(1), input(65504) * input(1)});
  EXPECT_TRUE(finish(s).contains(-HUGE_VAL));
  EXPECT_TRUE(finish(s).contains(NAN));
  EXPECT_FALSE(finish(sum_of({input(-HUGE_VAL) * input(1), input(60000) * input(1)})).contains(NAN));
}

TEST(TrackedRegression, ANarrowAccumulatorFlushesWhatIsNormalOutsideIt) {
  // 2^-20 is normal in bf16, subnormal in f16.
  const Under under(Dtype::bf16, "compute=bf16 accumulate=f16 ftz=yes");
  EXPECT_TRUE(finish(sum_of({input(0x1p-20), input(0x1p-40)})).contains(0));
}

TEST(TrackedRegression, RoundingsOnEntryAreAmplifiedByTheAdditions) {
  const Under under(Dtype::bf16, "accumulate=bf16");
  const int n = 600;
  T s = sum_of(std::vector<T>(n, input(1e-30) * input(1e-30)));
  detail::charge_additions(s);
  const double entered = n * 0x1p-134;  // half the least bf16 each
  EXPECT_GE(s.error, entered * std::pow(1 + 0x1p-8, n));
}

TEST(TrackedRegression, ExtraRoundingsOfADivisionScaleWithItsError) {
  const Under under(Dtype::f32, "div=2");
  const T q = around(0, 1e-3) / input(0.75);
  EXPECT_GE(q.error, 1e-3 / 0.75 * (1 + 2 * 0x1p-24));
}

// 1 / 0.5 is exact, and so is what is multiplied by it; 1 / 0.75 is neither.
TEST(TrackedRegression, APowerOfTwoDividesExactly) {
  const Under under(Dtype::f32, "div=2");
  EXPECT_EQ((input(0.3f) / input(0.5)).error, 0);
  EXPECT_EQ((input(0.3f) / input(-8)).error, 0);
  EXPECT_GT((input(0.375) / input(0.75)).error, 0);
  EXPECT_GT((input(0.3f) / around(0.5, 1e-9)).error, 1e-9);
}

constexpr double kLargestFloat = std::numeric_limits<float>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(TrackedRegression, NothingTimesAnyErrorIsNothing) {
  const Under under(Dtype::f32);
  const T p = around(0, 1e-3) * T::anything(1);
  EXPECT_EQ(p.error, kInfinity);
  EXPECT_TRUE(finish(maximum(input(1), p)).contains(5));
}

TEST(TrackedRegression, ALiteralIsFlushedAsAnyNumber) {
  const Under under(Dtype::f32, "daz=yes");
  EXPECT_TRUE(finish(param<T>(1e-40) * input(1e30)).contains(0));
}

TEST(TrackedRegression, AnAccumulatorOfNarrowerRangeFlushesByItsOwn) {
  const Under under(Dtype::f32, "accumulate=f16 ftz=yes");
  EXPECT_TRUE(finish(sum_of({input(0x1p-20), input(0x1p-20)})).contains(0));  // subnormal in f16
  // What enters may be lost, and so may each partial sum.
  T s = sum_of(std::vector<T>(100, input(0x1p-20)));
  detail::charge_additions(s);
  EXPECT_GE(s.error, 200 * 0x1p-14);
}

TEST(TrackedRegression, AChainMayLoseItsTermsOneByOne) {
  // 0.45 + 0.45 is flushed, and so is 0 + 0.9, again and again.
  const Under under(Dtype::f32, "ftz=yes");
  const double least = std::numeric_limits<float>::min();
  std::vector<T> terms{input(f(0.45 * least)), input(f(0.45 * least))};
  for (int k = 0; k < 20; ++k) terms.push_back(input(f(0.9 * least)));
  EXPECT_TRUE(finish(sum_of(terms)).contains(0));
}

TEST(TrackedRegression, AFunctionOfAWideSetOverflowsOnTheSideWhereItIsLarge) {
  const Under under(Dtype::f32, "expm1=1ulp");
  EXPECT_NE(expm1(around(-0.7, 200)).may_be & kMayBePositiveInfinity, 0);
}

TEST(TrackedRegression, SubnormalFunctionValuesMayBeReadAsZero) {
  const Under under(Dtype::f32, "daz=yes exp=2ulp");
  EXPECT_TRUE(finish(exp(input(-100)) * input(1e30)).contains(0));
}

TEST(TrackedRegression, AnOverflowOnTheWayMayMeetAnInfiniteTerm) {
  const Under under(Dtype::f32);
  T t = input(1);
  t.may_be = kMayBeNegativeInfinity;
  EXPECT_TRUE(finish(sum_of({input(kLargestFloat), input(kLargestFloat / 2), input(-kLargestFloat / 2), t}))
                  .contains(NAN));
}

TEST(TrackedRegression, AConversionFlushesWhatMayBeSubnormal) {
  const Under under(Dtype::f32, "ftz=yes");
  const double least = 0x1p-14;  // normal f16
  EXPECT_TRUE(finish(cast<T>(around(least, 0x1p-23), Dtype::f16)).contains(0));
  EXPECT_FALSE(finish(cast<T>(around(2 * least, 0x1p-23), Dtype::f16)).contains(0));
}

TEST(TrackedRegression, InfinityBecomesNanWhereThereIsNone) {
  T t = (Under(Dtype::f32), input(1));
  t.may_be = kMayBePositiveInfinity;
  EXPECT_EQ((Under(Dtype::f32), cast<T>(t, Dtype::f8e4m3).may_be), kMayBeNan);
  const Under under(Dtype::f8e4m3);
  EXPECT_TRUE(finish(t).contains(NAN));
}

TEST(TrackedRegression, AddingZeroRoundsWhatIsNoneOfTheFormat) {
  const Under under(Dtype::f32, "compute=bf16");
  const T x = input(1 + 0x1p-20);
  EXPECT_TRUE(finish(x + input(0)).contains(1));
  EXPECT_TRUE(finish(sum_of({x})).contains(1));
  EXPECT_TRUE(finish(sum_of({input(0), x, input(0)})).contains(1));
  EXPECT_FALSE(finish(x).contains(1));
}

TEST(TrackedRegression, SetsOfForeignNumbersRoundWhenAdded) {
  const double x = 0x1.8p-25, y = 0x1.cp-25;  // between two f16
  const auto settled = [](T t) {
    detail::settle(t);
    return t.error;
  };
  const Under kept(Dtype::f32, "compute=f16");
  EXPECT_GE(settled(select(Tri{true, false}, input(x), input(y))), y - x + 0x1p-25);
  EXPECT_GE(settled(maximum(input(x), around(y, 1e-9))), 1e-9 + 0x1p-25);
  const Under flushed(Dtype::f32, "compute=f16 daz=yes");
  EXPECT_GE(settled(input(x)), x + 0x1p-25);
}

TEST(TrackedRegression, ADivisorIsNoFartherFromZeroThanItIs) {
  const Under under(Dtype::f64);
  using W = Tracked<Real>;
  W b = W::exact(Real(1) + Real(0x1p-60));  // 1 + 2^-52 as a double rounded up
  b.error = 1 + 0x1p-55L;
  b.grid = kNoGrid;
  EXPECT_TRUE(finish(W::exact(Real(1)) / b).undecidable());
  EXPECT_FALSE(b.sign_known());
}

TEST(TrackedRegression, AQuotientThatUnderflowsStillHasAnError) {
  const Under under(Dtype::f32);
  const double b = 0x1p80, error = b - 0x1p40;
  const T q = T::exact(0x1p-1000) / around(b, error);
  ASSERT_EQ(q.value, 0);
  EXPECT_GE(q.error, 0x1p-1040);
}

TEST(TrackedRegression, WhatTheCarrierDropsIsLessThanItsLeastError) {
  using C = Carrier<Real>;
  const Real x = exp2(Real(-14999)) * Real(0.99);
  ASSERT_TRUE(C::limited(x) == Real(0));
  EXPECT_GE(C::kLeast, C::size(x));
}

TEST(TrackedRegression, ASumOfOneTermInASumRoundsForItself) {
  const Under under(Dtype::f32, "compute=bf16 accumulate=f16");
  const double x = f(0.1);
  T s = sum_of({sum_of({input(x)}), input(1)});
  detail::charge_additions(s);
  // Into the accumulator and the addition, for both; and the inner sum into bf16, and out of it again.
  EXPECT_GE(s.error, (std::pow(1 + 0x1p-11, 2) - 1) * (1 + x) + (0x1p-8 + 0x1p-11) * x);
}

TEST(TrackedRegression, ANegatedDifferenceMayBeTakenTheOtherWayRound) {
  const Under under(Dtype::f32);
  const Interval i = finish(-(input(1) - input(1)));
  EXPECT_TRUE(i.contains(0.0));
  EXPECT_TRUE(i.contains(-0.0));
}

}  // namespace
}  // namespace assay::testing
