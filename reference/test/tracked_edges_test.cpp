// Tracked where numbers end: overflow, NaN and infinities, subnormals, signs of zero, and what is stored.
#include <gtest/gtest.h>

#include "arithmetic_of_test.h"

namespace assay::testing {
namespace {

constexpr double kMinNormal = std::numeric_limits<float>::min();

// ---- Overflow on the way --------------------------------------------------------------------------------------------

TEST(TrackedOverflow, OfAPartialSumIsLegal) {
  const Under under(Dtype::f32);
  const Interval i = finish(sum_of({input(kMax), input(kMax / 2), input(-kMax / 2)}));
  EXPECT_TRUE(i.contains(HUGE_VAL));
  EXPECT_FALSE(i.contains(-HUGE_VAL));  // the negative terms do not reach that far
  EXPECT_FALSE(i.contains(NAN));
  EXPECT_TRUE(i.contains(kMax));
  const Interval both = finish(sum_of({input(kMax), input(kMax), input(-kMax), input(-kMax)}));
  EXPECT_TRUE(both.contains(-HUGE_VAL));
  EXPECT_TRUE(both.contains(NAN));
  EXPECT_TRUE(both.contains(0));
}

TEST(TrackedOverflow, OfAnInfiniteSumMayMeetTheOtherInfinity) {
  const Under under(Dtype::f32);
  const Interval i = finish(sum_of({input(HUGE_VAL), input(-kMax), input(-kMax), input(-kMax)}));
  EXPECT_TRUE(i.contains(HUGE_VAL));
  EXPECT_TRUE(i.contains(NAN));
  EXPECT_FALSE(i.contains(kMax));
}

TEST(TrackedOverflow, OfAProductThatMayBeFused) {
  const Under under(Dtype::f32);
  const Interval i = finish(input(kMax) * input(2) + input(-kMax));
  EXPECT_TRUE(i.contains(kMax));      // fused
  EXPECT_TRUE(i.contains(HUGE_VAL));  // not fused
}

TEST(TrackedOverflow, IsCertainFarAboveTheMaximum) {
  const Under under(Dtype::f32);
  const Interval i = finish(input(kMax) * input(2));
  EXPECT_TRUE(i.contains(HUGE_VAL));
  EXPECT_FALSE(i.contains(kMax));
}

TEST(TrackedOverflow, BeginsHalfAUnitAboveTheMaximum) {
  const Under under(Dtype::f16);
  EXPECT_FALSE(finish(input(65504) + input(15)).contains(HUGE_VAL));
  EXPECT_TRUE(finish(input(65504) + input(15)).contains(65504));
  EXPECT_TRUE(finish(input(65504) + input(16)).contains(HUGE_VAL));
  EXPECT_FALSE(finish(input(65504) + input(16)).contains(65504));
}

TEST(TrackedOverflow, OfACastIsInfiniteWhereTheWholeSetIs) {
  const Under under(Dtype::f32);
  const T e = ScalarOps<T>::cast(around(1e40, 1e30), Dtype::f32);
  EXPECT_TRUE(finish(e).contains(HUGE_VAL));
  EXPECT_FALSE(finish(e).contains(kMax));
  EXPECT_FALSE(finish(e).contains(NAN));
  const Interval quotient = finish(e / (T(1) + e));
  EXPECT_TRUE(quotient.contains(NAN));
  EXPECT_FALSE(quotient.contains(1));
  EXPECT_TRUE(finish(ScalarOps<T>::cast(around(-1e40, 1e30), Dtype::f32)).contains(-HUGE_VAL));
  // One end overflows, and the other does not.
  const Interval some = finish(ScalarOps<T>::cast(around(kMax, 1e32), Dtype::f32));
  EXPECT_TRUE(some.contains(HUGE_VAL));
  EXPECT_TRUE(some.contains(kMax));
}

// ---- Sets with NaN and infinities -----------------------------------------------------------------------------------

TEST(TrackedNonfinite, SumsAndProductsOfInfinities) {
  const Under under(Dtype::f32);
  EXPECT_TRUE(finish(input(HUGE_VAL) + input(-HUGE_VAL)).contains(NAN));
  EXPECT_FALSE(finish(input(HUGE_VAL) + input(-HUGE_VAL)).contains(0));
  EXPECT_TRUE(finish(input(HUGE_VAL) * input(0)).contains(NAN));
  EXPECT_TRUE(finish(input(HUGE_VAL) * input(-2)).contains(-HUGE_VAL));
  EXPECT_FALSE(finish(input(HUGE_VAL) * input(-2)).contains(NAN));
  const Interval zero = finish(input(3) / input(-HUGE_VAL));
  EXPECT_TRUE(zero.contains(-0.0));
  EXPECT_FALSE(zero.contains(0.0));
}

TEST(TrackedNonfinite, InfinityTimesWhatMayBeZero) {
  const Under under(Dtype::f32);
  const Interval i = finish(input(HUGE_VAL) * around(0.5, 0.5));
  EXPECT_TRUE(i.contains(NAN));
  EXPECT_TRUE(i.contains(HUGE_VAL));
  const Interval j = finish(input(HUGE_VAL) * around(0.5, 0.25));
  EXPECT_FALSE(j.contains(NAN));
  EXPECT_FALSE(j.contains(-HUGE_VAL));
}

TEST(TrackedNonfinite, AlternativesReachEveryCombination) {
  const Under under(Dtype::f32);
  T a = input(2);
  a.may_be = kMayBePositiveInfinity;
  T b = input(-3);
  b.may_be = kMayBeNegativeInfinity;
  const Interval s = finish(a + b);
  EXPECT_TRUE(s.contains(-1));
  EXPECT_TRUE(s.contains(HUGE_VAL));
  EXPECT_TRUE(s.contains(-HUGE_VAL));
  EXPECT_TRUE(s.contains(NAN));
  const Interval p = finish(a * b);
  EXPECT_TRUE(p.contains(-6));
  EXPECT_TRUE(p.contains(-HUGE_VAL));
  EXPECT_FALSE(p.contains(HUGE_VAL));
  EXPECT_FALSE(p.contains(NAN));
  const Interval q = finish(a / b);
  EXPECT_TRUE(q.contains(f(-2.0 / 3)));
  EXPECT_TRUE(q.contains(-0.0));
  EXPECT_TRUE(q.contains(-HUGE_VAL));
  EXPECT_TRUE(q.contains(NAN));
}

TEST(TrackedNonfinite, UnspecifiedMeansThatAReadNanFreesTheResult) {
  for (const bool specified : {true, false}) {
    const Under under(Dtype::f32, specified ? "nonfinite=propagate" : "nonfinite=unspecified");
    const T x = input(1);
    (void)input(NAN);  // read, but the formula takes the other branch
    EXPECT_EQ(finish(x).undecidable(), !specified);
  }
}

TEST(TrackedNonfinite, IsNan) {
  const Under under(Dtype::f32);
  EXPECT_TRUE(is_nan(input(NAN)).value);
  EXPECT_TRUE(is_nan(input(NAN)).sure);
  EXPECT_FALSE(is_nan(input(1)).value);
  EXPECT_TRUE(is_nan(around(1, 0.5)).sure);
  EXPECT_FALSE(is_nan(T::anything(1)).sure);
}

// ---- Flushing -------------------------------------------------------------------------------------------------------

TEST(TrackedFlush, SubnormalResultsMayBeZero) {
  const double x = 1.5 * kMinNormal, y = -kMinNormal;
  EXPECT_FALSE((Under(Dtype::f32), finish(input(x) + input(y)).contains(0)));
  const Under under(Dtype::f32, "ftz=yes");
  EXPECT_TRUE(finish(input(x) + input(y)).contains(0));
  EXPECT_TRUE(finish(input(x) + input(y)).contains(x + y));
  EXPECT_FALSE(finish(input(x)).contains(0));
}

TEST(TrackedFlush, EveryPartialSumMayLoseASubnormal) {
  const Under under(Dtype::f32, "ftz=yes");
  T s = sum_of({input(1.5 * kMinNormal), input(-kMinNormal), input(1e-36), input(1e-36)});
  detail::charge_additions(s);
  EXPECT_GE(s.error, 2 * kMinNormal);
  T coarse = sum_of({input(2), input(-1), input(4)});  // no partial sum of whole numbers is subnormal
  detail::charge_additions(coarse);
  EXPECT_EQ(coarse.error, 0);
}

TEST(TrackedFlush, LeavesAnExactZeroExact) {
  const Under under(Dtype::f32, "ftz=yes");
  EXPECT_EQ(closed(input(3) - input(3)).error, 0);
  EXPECT_EQ(closed(input(1.5 * kMinNormal) - input(kMinNormal)).error, kMinNormal / 2);  // itself or zero
}

// ---- Signs of zero --------------------------------------------------------------------------------------------------

TEST(TrackedZero, HasTheSignOfIeee) {
  const Under under(Dtype::f32);
  const auto admits = [](const T& t, bool positive, bool negative) {
    const Interval i = finish(t);
    return i.contains(0.0) == positive && i.contains(-0.0) == negative;
  };
  EXPECT_TRUE(admits(input(0), true, false));
  EXPECT_TRUE(admits(input(-0.0), false, true));
  EXPECT_TRUE(admits(input(-0.0) + input(-0.0), false, true));
  EXPECT_TRUE(admits(input(-0.0) + input(0.0), true, false));
  EXPECT_TRUE(admits(input(1) - input(1), true, false));
  EXPECT_TRUE(admits(input(-2) * input(0), false, true));
  EXPECT_TRUE(admits(input(0) / input(-2), false, true));
  EXPECT_TRUE(admits(input(-1e-30) * input(1e-30), false, true));  // underflow keeps the sign
  EXPECT_TRUE(admits(abs(input(-0.0)), true, false));
  EXPECT_TRUE(admits(-input(0), false, true));
}

TEST(TrackedZero, OfASumDependsOnWhereItStarts) {
  const Under under(Dtype::f32);
  const Interval negative = finish(sum_of({input(-0.0), input(-0.0)}));
  EXPECT_TRUE(negative.contains(0.0));  // started from zero
  EXPECT_TRUE(negative.contains(-0.0));
  const Interval mixed = finish(sum_of({input(-0.0), input(0.0)}));
  EXPECT_TRUE(mixed.contains(0.0));
  EXPECT_FALSE(mixed.contains(-0.0));
  const Interval empty = finish(sum_of({}));
  EXPECT_TRUE(empty.contains(0.0));
  EXPECT_FALSE(empty.contains(-0.0));
}

TEST(TrackedZero, OfAnUnderflowingFusedProductIsFree) {
  const Under under(Dtype::f32);
  const Interval i = finish(input(0) + input(-1e-30) * input(1e-30));
  EXPECT_TRUE(i.contains(-0.0));  // fused
  EXPECT_TRUE(i.contains(0.0));   // +0 + -0
}

TEST(TrackedZero, MeansNothingWhereTheContractSaysSo) {
  const Under under(Dtype::f32, "signed_zero=ignore");
  EXPECT_TRUE(finish(input(0)).contains(-0.0));
}

// ---- Stores ---------------------------------------------------------------------------------------------------------

TEST(TrackedStore, OfANarrowerResultRoundsOnceOrTwice) {
  const Under under(Dtype::bf16);  // computed in f32
  // Just above a tie of bf16: once gives the upper neighbour, in f32 first gives the tie, hence the even one.
  const double x = 1 + 0x1p-8, y = 0x1p-40;
  const Interval i = finish(input(x) + input(y));
  EXPECT_EQ(i.lower, 1);
  EXPECT_EQ(i.upper, 1 + 0x1p-7);
  const Interval plain = finish(input(1) + input(0x1p-9));
  EXPECT_EQ(plain.lower, 1);
  EXPECT_EQ(plain.upper, 1);
}

TEST(TrackedStore, MayBeFaithful) {
  const Under under(Dtype::bf16, "store=faithful");
  const Interval i = finish(input(1) + input(0x1p-9));
  EXPECT_EQ(i.lower, 1);
  EXPECT_EQ(i.upper, 1 + 0x1p-7);
  const Interval exact = finish(input(1) + input(0x1p-7));
  EXPECT_EQ(exact.lower, exact.upper);
}

TEST(TrackedStore, OfAFormatWithoutInfinityOverflowsToNan) {
  const Under under(Dtype::f8e4m3, "compute=f32");
  const Interval i = finish(input(448) + input(448));
  EXPECT_TRUE(i.contains(NAN));
  EXPECT_FALSE(i.contains(HUGE_VAL));
  EXPECT_FALSE(i.contains(448));
}

TEST(TrackedStore, OfEveryFiniteNumberIsUndecidable) {
  const Under under(Dtype::f32);
  EXPECT_TRUE(finish(around(0, 1e39)).undecidable());
  EXPECT_FALSE(finish(around(0, 1e38)).undecidable());
}

// ---- 191-bit values: results in f64 ---------------------------------------------------------------------------------

TEST(TrackedWide, StoresF64Sharply) {
  const Under under(Dtype::f64);
  using W = Tracked<Real>;
  const W x = ScalarOps<W>::input(0.1), y = ScalarOps<W>::input(0.3);
  EXPECT_EQ(finish(x * y).lower, 0.1 * 0.3);
  EXPECT_EQ(finish(x * y).upper, 0.1 * 0.3);
  EXPECT_EQ(finish(x / y).lower, 0.1 / 0.3);
  EXPECT_EQ(finish(x / y).upper, 0.1 / 0.3);
  const W small = ScalarOps<W>::input(0x1p-1074);
  EXPECT_EQ(finish(small * ScalarOps<W>::input(0.75)).lower, 0x1p-1074);
  EXPECT_EQ(finish(small * ScalarOps<W>::input(0.75)).upper, 0x1p-1074);
  EXPECT_TRUE(finish(exp(ScalarOps<W>::input(20000))).contains(HUGE_VAL));
  EXPECT_EQ(finish(exp(ScalarOps<W>::input(-20000))).upper, 0);
}

TEST(TrackedWide, SumsOfIntegersAreExact) {
  const Under under(Dtype::f64);
  using W = Tracked<Real>;
  const W s =
      sum<W>(1000, [](std::int64_t k) { return ScalarOps<W>::input(double(k)) * ScalarOps<W>::input(3); });
  const Interval i = finish(s);
  EXPECT_EQ(i.lower, 3.0 * 999 * 500);
  EXPECT_EQ(i.upper, i.lower);
}

}  // namespace
}  // namespace assay::testing
