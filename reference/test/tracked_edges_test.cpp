// Tracked where numbers end: functions, overflow, NaN and infinities, subnormals, signs of zero, and what is stored.
#include <gtest/gtest.h>

#include "arithmetic_of_test.h"

namespace assay::testing {
namespace {

constexpr double kMax = std::numeric_limits<float>::max();
constexpr double kMinNormal = std::numeric_limits<float>::min();

// ---- Integers -------------------------------------------------------------------------------------------------------

TEST(TrackedInteger, LiesBetweenThoseOfTheEnds) {
  const Under under(Dtype::f32);
  const auto is = [](const T& t, double lower, double upper) {
    const Interval i = finish(t);
    EXPECT_NEAR(i.lower, lower, 1e-12 * std::fabs(lower));
    EXPECT_NEAR(i.upper, upper, 1e-12 * std::fabs(lower));
  };
  is(trunc(input(-2.5)), -2, -2);
  is(floor(input(-2.5)), -3, -3);
  is(floor(around(2.5, 0.2)), 2, 2);
  is(floor(around(2.9, 0.2)), 2, 3);  // two integers, not three
  is(floor(around(3.1, 0.2)), 2, 3);
  is(trunc(around(-0.1, 0.2)), 0, 0);
  is(floor(around(-0.1, 0.2)), -1, 0);
  is(floor(around(0.5, 3)), -3, 3);
  is(trunc(input(kMax)), kMax, kMax);
  EXPECT_TRUE(finish(floor(input(INFINITY))).positive_infinity);
  EXPECT_TRUE(finish(trunc(input(NAN))).nan);
}

TEST(TrackedInteger, PiecesAreThoseThatTheSetReaches) {
  const Under under(Dtype::f32);
  const auto pieces = [](const T& x) {
    const FloorRange r = floor_range(x, 4);
    EXPECT_TRUE(r.least <= r.likely && r.likely <= r.greatest);
    return std::pair{r.least, r.greatest};
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(pieces(input(2)), (Pair{2, 2}));
  EXPECT_EQ(pieces(around(2.5, 0.4)), (Pair{2, 2}));
  EXPECT_EQ(pieces(around(2.5, 0.6)), (Pair{1, 3}));
  EXPECT_EQ(pieces(around(2, 1e-9)), (Pair{1, 2}));
  EXPECT_EQ(pieces(around(-7, 1)), (Pair{0, 0}));
  EXPECT_EQ(pieces(around(1e30, 1)), (Pair{3, 3}));
  EXPECT_EQ(pieces(around(0, kMax)), (Pair{0, 3}));
  EXPECT_EQ(pieces(T::anything(1)), (Pair{0, 3}));
  EXPECT_EQ(pieces(input(NAN)), (Pair{0, 3}));

  // Two lines that meet in (2, 7): the hull is what both reach.
  const T x = around(2, 0.25);
  const Interval i = finish(by_floor<T>(x, 4, [&](std::int64_t k) {
    const T l = minimum(maximum(x - T(k), T(0)), T(1));
    return k < 2 ? T(6) + l : T(7) + T(4) * l;
  }));
  EXPECT_NEAR(i.upper, 8, 1e-5);
  EXPECT_LE(i.lower, 6.75);
  EXPECT_GE(i.lower, 5.99);
}

TEST(TrackedInteger, KeepsTheSignOfZeroWhereItIsKnown) {
  const Under under(Dtype::f32);
  const Interval negative = finish(trunc(input(-0.25)));
  EXPECT_TRUE(negative.exact_zero_sign && std::signbit(negative.value));
  const Interval positive = finish(floor(input(0.25)));
  EXPECT_TRUE(positive.exact_zero_sign && !std::signbit(positive.value));
  EXPECT_TRUE(std::signbit(finish(floor(input(-0.0))).value));
  EXPECT_FALSE(finish(trunc(around(0.1, 0.2))).exact_zero_sign);
}

// ---- Elementary functions -------------------------------------------------------------------------------------------

TEST(TrackedFunction, IsStoredCorrectlyRoundedByDefault) {
  const Under under(Dtype::f32);
  for (double x = -20; x < 20; x += 0.37) {
    const Interval i = finish(exp(input(f(x))));
    EXPECT_EQ(i.lower, f(std::exp(static_cast<double>(f(x))))) << x;
    EXPECT_EQ(i.upper, i.lower) << x;
  }
}

TEST(TrackedFunction, ErrsByItsDeclaredUlps) {
  const Under under(Dtype::f32, "exp=2ulp");
  const T y = exp(input(1));  // e, between 2 and 4: one ulp is 2^-22
  EXPECT_FALSE(y.pending);
  EXPECT_GE(y.error, 2 * 0x1p-22);
  EXPECT_LE(y.error, 2 * 0x1p-22 * (1 + 1e-6));
}

TEST(TrackedFunction, ErrsByItsDeclaredAbsoluteError) {
  const Under under(Dtype::f32, "erf=4e-7abs");
  EXPECT_GE(erf(input(1e-9)).error, 4e-7);
}

TEST(TrackedFunction, HasTheImageOfItsArgument) {
  const Under under(Dtype::f32);
  const T y = exp(around(1, 0.1));
  EXPECT_GE(y.error, std::exp(1.1) - std::exp(1.0));
  EXPECT_LE(y.error, (std::exp(1.1) - std::exp(1.0)) * (1 + 1e-9));
  EXPECT_NEAR(sin(around(1, 0.1)).error, 0.1 * std::cos(1.0) + 0.1 * 0.1 / 2, 1e-9);
  EXPECT_NEAR(sin(around(0, 0.1)).error, 0.1, 1e-9);
  EXPECT_NEAR(cos(around(0, 1e-4)).error, 1e-8 / 2, 1e-11);
  EXPECT_NEAR(cos(around(1, 10)).error, 2, 1e-9);
  const T decreasing = acos(around(0, 0.5));
  EXPECT_NEAR(decreasing.error, std::asin(0.5), 1e-9);
}

TEST(TrackedFunction, IsExactWhereItsValueIs) {
  const Under under(Dtype::f32);
  EXPECT_EQ(exp(input(0)).error, 0);
  EXPECT_EQ(log(input(1)).error, 0);
  EXPECT_EQ(tanh(input(-0.0)).error, 0);
  EXPECT_TRUE(std::signbit(tanh(input(-0.0)).value));
  EXPECT_NE(exp(input(1)).error, 0);
}

TEST(TrackedFunction, BeyondItsDomainIsNan) {
  const Under under(Dtype::f32);
  const Interval certain = finish(log(input(-1)));
  EXPECT_TRUE(certain.contains(NAN));
  EXPECT_FALSE(certain.contains(0));
  EXPECT_TRUE(finish(asin(around(0.99, 0.02))).contains(NAN));
  EXPECT_FALSE(finish(asin(around(0.9, 0.02))).contains(NAN));
  EXPECT_TRUE(finish(log(around(1, 2))).undecidable());
}

TEST(TrackedFunction, OfInfinities) {
  const Under under(Dtype::f32);
  EXPECT_TRUE(finish(exp(input(HUGE_VAL))).contains(HUGE_VAL));
  const Interval zero = finish(exp(input(-HUGE_VAL)));
  EXPECT_EQ(zero.lower, 0);
  EXPECT_EQ(zero.upper, 0);
  EXPECT_TRUE(finish(sin(input(HUGE_VAL))).contains(NAN));
  T t = input(0);
  t.may_be = kMayBeNegativeInfinity;
  const Interval either = finish(exp(t));
  EXPECT_TRUE(either.contains(1));
  EXPECT_TRUE(either.contains(0));
}

TEST(TrackedFunction, OverflowsToInfinity) {
  const Under under(Dtype::f32);
  const Interval i = finish(exp(input(100)));
  EXPECT_TRUE(i.contains(HUGE_VAL));
  EXPECT_FALSE(i.contains(kMax));
  const T reciprocal = input(1) / (input(1) + exp(input(100)));
  EXPECT_TRUE(finish(reciprocal).contains(0)) << "1 / (1 + inf)";
}

TEST(TrackedFunction, TinyResultsMayBeFlushed) {
  EXPECT_FALSE((Under(Dtype::f32), finish(exp(input(-80))).contains(0)));
  const Under under(Dtype::f32, "ftz=yes tiny=1e-30");
  EXPECT_TRUE(finish(exp(input(-80))).contains(0));
  EXPECT_FALSE(finish(exp(input(-60))).contains(0));
}

TEST(TrackedPower, IsTheHullOfItsCorners) {
  const Under under(Dtype::f32);
  const T y = pow(around(2, 0.1), around(3, 0.1));
  EXPECT_GE(y.error, std::pow(2.1, 3.1) - 8);
  EXPECT_LE(y.error, (std::pow(2.1, 3.1) - 8) * (1 + 1e-9));
  EXPECT_EQ(pow(input(7), input(0)).error, 0);
  EXPECT_TRUE(finish(pow(around(0.5, 1), input(2))).undecidable());
  EXPECT_EQ(finish(pow(input(-2), input(3))).lower, -8);
}

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
