// Every rule of Tracked, one at a time, under arithmetics where its effect can be computed by hand.
#include <gtest/gtest.h>

#include "arithmetic_of_test.h"

namespace assay::testing {
namespace {

constexpr double kUnit = 0x1p-24;  // of f32

// ---- Inputs and literals --------------------------------------------------------------------------------------------

TEST(TrackedInput, IsExactAndKnowsItsGrid) {
  const Under under(Dtype::f32);
  const T x = input(-0.375);
  EXPECT_EQ(x.value, -0.375);
  EXPECT_EQ(x.error, 0);
  EXPECT_EQ(x.magnitude, 0.375);
  EXPECT_EQ(x.grid, -3);
  EXPECT_FALSE(x.pending);
  EXPECT_EQ(input(0).grid, kEveryGrid);
}

TEST(TrackedInput, MayBeReadAsZeroUnderDaz) {
  const Under under(Dtype::f32, "daz=yes");
  EXPECT_EQ(input(1e-40).error, 1e-40);
  EXPECT_EQ(input(1e-30).error, 0);
  EXPECT_TRUE(finish(input(-1e-40)).contains(-0.0));
}

TEST(TrackedLiteral, CarriesItsRepresentationError) {
  const Under under(Dtype::f32);
  EXPECT_EQ(T(0.5).error, 0);
  EXPECT_EQ(T(3).error, 0);
  const double lost = std::fabs(static_cast<double>(0.1f) - 0.1);
  EXPECT_GE(T(0.1).error, lost);
  EXPECT_LE(T(0.1).error, lost * (1 + 1e-12));
  EXPECT_EQ(param<T>(0.1).error, T(0.1).error);
}

TEST(TrackedLiteral, TooLargeForTheFormatMayBeInfinite) {
  const Under under(Dtype::f32);
  EXPECT_EQ(T(1e39).may_be, kMayBePositiveInfinity);
  EXPECT_EQ(T(-1e39).may_be, kMayBeNegativeInfinity);
}

// ---- Products -------------------------------------------------------------------------------------------------------

TEST(TrackedProduct, LeavesItsRoundingPending) {
  const Under under(Dtype::f32);
  const double a = f(1.1), b = f(1.3);
  const T p = input(a) * input(b);
  EXPECT_EQ(p.value, a * b);  // 48 bits: exact in double
  EXPECT_EQ(p.error, 0);
  EXPECT_TRUE(p.pending);
  const T c = closed(p);
  EXPECT_FALSE(c.pending);
  EXPECT_GE(c.error, kUnit * a * b);
  EXPECT_LE(c.error, kUnit * a * b * (1 + 1e-12));
}

TEST(TrackedProduct, OfFewBitsIsExact) {
  const Under under(Dtype::f32);
  const T c = closed(input(1023) * input(-4095));
  EXPECT_EQ(c.error, 0);
  EXPECT_EQ(c.value, -1023.0 * 4095);
  EXPECT_NE(closed(input(8191) * input(4097)).error, 0);  // 26 bits
}

TEST(TrackedProduct, PropagatesTheErrorsOfBothFactors) {
  const Under under(Dtype::f32);
  const T p = around(2, 0.25) * around(-3, 0.5);
  const double exact = 2 * 0.5 + 3 * 0.25 + 0.25 * 0.5;
  EXPECT_GE(p.error, exact);
  EXPECT_LE(p.error, exact * (1 + 1e-12));
}

TEST(TrackedProduct, ThatUnderflowsIsChargedHalfTheLeastSubnormal) {
  const Under under(Dtype::f32);
  const T c = closed(input(0x1p-100) * input(0x1.9p-48));
  EXPECT_GE(c.error, 0x1p-150);
  EXPECT_LE(c.error, 0x1p-150 * (1 + 1e-9));
}

TEST(TrackedProduct, BelowHalfTheLeastSubnormalIsZeroOrFused) {
  const Under under(Dtype::f32);
  const T c = closed(input(0x1p-100) * input(0x1.8p-60));
  EXPECT_GE(c.error, 0x1.8p-160);
  EXPECT_LE(c.error, 0x1.8p-160 * (1 + 1e-9));
}

TEST(TrackedRounding, OfWhatIsNearANumberOfTheFormatGivesThatNumber) {
  const Under under(Dtype::f32);
  T t = around(1.5, 1e-16);
  t.pending = true;
  EXPECT_LE(closed(t).error, 1e-16 * (1 + 1e-9));
  t = around(1.5 + 0x1p-24, 1e-16);  // a tie
  t.pending = true;
  EXPECT_GE(closed(t).error, 0x1p-24);
}

TEST(TrackedProduct, BeyondDoubleCarriesItsOwnError) {
  const Under under(Dtype::f32);
  T p = T::exact(0x1.000001p-600) * T::exact(0x1.000001p-600);
  EXPECT_GT(p.error, 0);  // the last bits are below the least double
  p = T::exact(0x1.0000000000001p0) * T::exact(0x1.0000000000001p0);
  EXPECT_GE(p.error, 0x1p-104);
}

TEST(TrackedProduct, OfNarrowerOperandsRoundsThemFirst) {
  const Under under(Dtype::f32, "multiply=bf16");
  const double a = 1 + 0x1p-10;  // not a bf16
  const T p = input(a) * input(2);
  EXPECT_GE(p.error, 2 * 0x1p-8 * a);
  EXPECT_EQ((input(1.5) * input(2)).error, 0);
}

// ---- Sums -----------------------------------------------------------------------------------------------------------

TEST(TrackedSum, OfTwoTermsIsStoredWithOneRounding) {
  const Under under(Dtype::f32);
  const double a = f(0.1), b = f(7.7);
  const Interval i = finish(input(a) + input(b));
  EXPECT_EQ(i.lower, f(a) + f(b));
  EXPECT_EQ(i.upper, f(a) + f(b));
}

TEST(TrackedSum, AdmitsTheFusedAndTheSeparateProductAndNothingElse) {
  const Under under(Dtype::f32);
  const float a = 1 + 0x1p-12f, b = 1 + 0x1p-12f, c = -1;
  const float fused = std::fma(a, b, c);
  const float product = a * b;
  const float separate = product + c;
  ASSERT_NE(fused, separate);
  const Interval i = finish(input(a) * input(b) + input(c));
  EXPECT_TRUE(i.contains(fused));
  EXPECT_TRUE(i.contains(separate));
  EXPECT_LE(i.upper - i.lower, 2 * kUnit * 1.001);
}

TEST(TrackedSum, OfManyTermsMayRoundInAnyOrder) {
  const Under under(Dtype::f32);
  std::vector<T> terms;
  double total = 0;
  for (int k = 0; k < 10; ++k) {
    terms.push_back(input(f(0.1 * (k + 1) / 3)));
    total += terms.back().value;
  }
  T s = sum_of(terms);
  EXPECT_EQ(s.terms, 10);
  detail::charge_additions(s);
  // Nine additions, the last of which is pending.
  const double expected = std::expm1(8 * std::log1p(kUnit)) * total;
  EXPECT_GE(s.error, expected);
  EXPECT_LE(s.error, expected * (1 + 1e-6));
}

TEST(TrackedSum, OfSmallIntegersIsExactHoweverLong) {
  const Under under(Dtype::f32);
  std::vector<T> terms;
  for (int k = 0; k < 4096; ++k) terms.push_back(input(k % 17 - 8) * input(k % 7 - 3));
  const Interval i = finish(sum_of(terms));
  EXPECT_EQ(i.lower, i.upper);
  EXPECT_EQ(i.lower, i.value);
}

TEST(TrackedSum, LosesExactnessWhereSomePartialSumMayNotFit) {
  const Under under(Dtype::f32);
  const T within = closed(input(0x1p23) + input(1) + input(-0x1p22));
  EXPECT_EQ(within.error, 0);
  const T beyond = closed(input(0x1p24) + input(1) + input(-0x1p23));
  EXPECT_GT(beyond.error, 0);
}

TEST(TrackedSum, MergesOpenSums) {
  const Under under(Dtype::f32);
  const T s = (input(f(0.1)) + input(f(0.2))) + (input(f(0.3)) + input(f(0.4)));
  EXPECT_EQ(s.terms, 4);
}

TEST(TrackedSum, TermsOutsideTheGridOfTheFormatMayRoundWhenAdded) {
  const Under under(Dtype::f32, "compute=f16");
  T t = input(0x1.8p-25);  // between two f16 subnormals
  detail::settle(t);
  EXPECT_EQ(t.error, 0x1p-25);
}

TEST(TrackedSum, ChainShortensTheWayOfATerm) {
  const auto error = [](std::string_view contract) {
    const Under under(Dtype::f32, contract);
    T s = sum_of(std::vector<T>(1000, input(f(0.1))));
    detail::charge_additions(s);
    return s.error / s.magnitude / kUnit;
  };
  EXPECT_NEAR(error(""), 998, 1);
  EXPECT_NEAR(error("chain=blocked(100)"), 109, 1);   // ceil(1000/100) + 100, the last one pending
  EXPECT_NEAR(error("chain=pairwise(100)"), 104, 1);  // 100 + ceil(log2 10) + 1, the last one pending
}

TEST(TrackedSum, BlocksAreCountedOverZerosToo) {
  // 100 terms spread over 100 blocks may meet one after the other: zeros do not shorten a blocked chain.
  const auto error = [](int zeros) {
    const Under under(Dtype::f32, "chain=blocked(10)");
    std::vector<T> terms;
    for (int k = 0; k < 100; ++k) {
      terms.push_back(input(f(0.1)));
      for (int z = 0; z < zeros; ++z) terms.push_back(input(0));
    }
    T s = sum_of(terms);
    detail::charge_additions(s);
    return s.error / s.magnitude / kUnit;
  };
  EXPECT_NEAR(error(0), 19, 0.1);
  EXPECT_NEAR(error(9), 109, 0.1);
}

TEST(TrackedSum, WiderAccumulatorRoundsOnce) {
  const Under under(Dtype::f32, "accumulate=f64");
  T s = sum_of(std::vector<T>(1000, input(f(0.1))));
  detail::charge_additions(s);
  EXPECT_LE(s.error, 1000 * 0x1p-53 * 100 * 1.01 + 1e-13);
}

TEST(TrackedSum, NarrowerAccumulatorRoundsTermsAsTheyEnter) {
  const Under under(Dtype::f32, "accumulate=bf16");
  const double x = f(0.1);
  const Interval one = finish(sum_of({input(x)}));
  EXPECT_TRUE(one.contains(round_to(x, format(Dtype::bf16))));
  EXPECT_FALSE(finish(input(x)).contains(round_to(x, format(Dtype::bf16))));
}

// ---- Division and roots ---------------------------------------------------------------------------------------------

TEST(TrackedDivision, IsCorrectlyRounded) {
  const Under under(Dtype::f32);
  const Interval i = finish(input(1) / input(3));
  EXPECT_EQ(i.lower, 1.0f / 3.0f);
  EXPECT_EQ(i.upper, 1.0f / 3.0f);
}

TEST(TrackedDivision, WithoutRemainderIsExact) {
  const Under under(Dtype::f32);
  EXPECT_EQ(closed(input(12) / input(-3)).error, 0);
  EXPECT_GT((input(1) / input(3)).error, 0);
}

TEST(TrackedDivision, PropagatesErrors) {
  const Under under(Dtype::f32);
  const T q = around(6, 0.5) / around(2, 0.25);
  EXPECT_GE(q.error, (0.5 + 3 * 0.25) / 1.75);
  EXPECT_LE(q.error, (0.5 + 3 * 0.25) / 1.75 * (1 + 1e-12));
  EXPECT_GE(6.5 / 1.75 - 3, 0.7);  // and the worst of the corners is inside
  EXPECT_LE(6.5 / 1.75 - 3, q.error);
}

TEST(TrackedDivision, ByWhatMayBeZeroIsUndecidable) {
  const Under under(Dtype::f32);
  EXPECT_TRUE(finish(input(1) / around(0.5, 0.5)).undecidable());
  EXPECT_FALSE(finish(input(1) / around(0.5, 0.25)).undecidable());
}

TEST(TrackedDivision, ByZeroIsInfinite) {
  const Under under(Dtype::f32);
  const Interval i = finish(input(1) / input(-0.0));
  EXPECT_TRUE(i.contains(-HUGE_VAL));
  EXPECT_FALSE(i.contains(HUGE_VAL));
  EXPECT_FALSE(i.contains(0));
  EXPECT_FALSE(i.contains(NAN));
  EXPECT_TRUE(finish(input(0) / input(0)).contains(NAN));
}

TEST(TrackedDivision, ExtraRoundingsWidenIt) {
  const Under under(Dtype::f32, "div=2");
  const T q = input(1) / input(3);
  EXPECT_GE(q.error, 2 * kUnit / 3);
  EXPECT_LE(q.error, 2 * kUnit / 3 * (1 + 1e-6));
}

TEST(TrackedRoot, IsCorrectlyRoundedAndExactForSquares) {
  const Under under(Dtype::f32);
  EXPECT_EQ(closed(sqrt(input(49))).error, 0);
  const Interval i = finish(sqrt(input(2)));
  EXPECT_EQ(i.lower, std::sqrt(2.0f));
  EXPECT_EQ(i.upper, std::sqrt(2.0f));
}

TEST(TrackedRoot, NearZeroReachesDownToZeroAndMayBeNan) {
  const Under under(Dtype::f32);
  const Interval i = finish(sqrt(around(1e-6, 2e-6)));
  EXPECT_TRUE(i.nan);
  EXPECT_LE(i.lower, 0);
  EXPECT_GE(i.upper, f(std::sqrt(3e-6)));
}

TEST(TrackedRoot, ExtraRoundingsWidenIt) {
  const Under under(Dtype::f32, "sqrt=1");
  EXPECT_GE(sqrt(input(2)).error, kUnit * std::sqrt(2.0));
}

// ---- Maximum, absolute value, conversion ----------------------------------------------------------------------------

TEST(TrackedMaximum, IsExactOnIntervals) {
  const Under under(Dtype::f32);
  const T m = maximum(around(1, 0.5), around(1.25, 0.125));
  // The greatest lies in [max(0.5, 1.125), max(1.5, 1.375)].
  EXPECT_EQ(m.value, 1.25);
  EXPECT_NEAR(m.error, 0.25, 1e-12);
  EXPECT_EQ(maximum(input(3), input(-2)).error, 0);
}

TEST(TrackedMaximum, FollowsIeee2019) {
  const Under under(Dtype::f32);
  EXPECT_TRUE(std::isnan(maximum(input(NAN), input(1)).value));
  EXPECT_TRUE(std::isnan(maximum(input(1), input(NAN)).value));
  EXPECT_FALSE(std::signbit(maximum(input(-0.0), input(0.0)).value));
  EXPECT_TRUE(std::signbit(minimum(input(-0.0), input(0.0)).value));
  EXPECT_EQ(maximum(input(-HUGE_VAL), input(1)).value, 1);
  EXPECT_EQ(maximum(input(-HUGE_VAL), input(1)).error, 0);
}

TEST(TrackedMaximum, OfACertainInfinityKnowsWhatIsLeft) {
  const Under under(Dtype::f32);
  const T t = around(1, 0.5);
  EXPECT_EQ(maximum(input(-HUGE_VAL), t).error, 0.5);
  EXPECT_EQ(maximum(t, input(-HUGE_VAL)).value, 1);
  EXPECT_EQ(maximum(t, input(HUGE_VAL)).error, 0);
  EXPECT_EQ(maximum(t, input(HUGE_VAL)).may_be, 0);
  EXPECT_EQ(maximum(T::anything(1), input(HUGE_VAL)).may_be, kMayBeNan);
  EXPECT_TRUE(finish(maximum(T::anything(HUGE_VAL), t)).undecidable());
}

TEST(TrackedAbsolute, KeepsASumOpen) {
  const Under under(Dtype::f32);
  const double a = f(0.1), b = f(7.7);
  const Interval i = finish(abs(input(a) - input(b)));
  EXPECT_EQ(i.lower, std::fabs(f(a) - f(b)));
  EXPECT_EQ(i.upper, i.lower);
}

TEST(TrackedCast, RoundsOnce) {
  const Under under(Dtype::f32);
  const T t = cast<T>(input(1 + 0x1p-10), Dtype::bf16);
  EXPECT_EQ(t.value, 1);
  EXPECT_EQ(t.error, 0);
  const T u = cast<T>(around(1 + 0x1p-8, 0x1p-12), Dtype::bf16);  // may fall on either side of a tie
  EXPECT_EQ(u.value, 1);
  EXPECT_GE(u.error, 0x1p-7);
}

// ---- Comparison and selection ---------------------------------------------------------------------------------------

TEST(TrackedComparison, IsSureOfExactNumbers) {
  const Under under(Dtype::f32);
  for (const auto& [x, y] : {std::pair{1.0, 2.0}, {2.0, 2.0}, {-0.0, 0.0}, {NAN, 1.0}, {HUGE_VAL, 1.0}}) {
    EXPECT_TRUE((input(x) < input(y)).sure);
    EXPECT_EQ((input(x) < input(y)).value, x < y);
    EXPECT_EQ((input(x) >= input(y)).value, x >= y);
    EXPECT_EQ((input(x) == input(y)).value, x == y);
    EXPECT_EQ((input(x) != input(y)).value, x != y);
  }
}

TEST(TrackedComparison, IsUnsureWhereSetsOverlap) {
  const Under under(Dtype::f32);
  EXPECT_FALSE((around(1, 0.6) < around(2, 0.6)).sure);
  EXPECT_TRUE((around(1, 0.4) < around(2, 0.4)).sure);
  EXPECT_FALSE((T::anything(1) < input(2)).sure);
  EXPECT_TRUE((input(NAN) < T::anything(1)).sure);  // false, whatever the other one is
}

TEST(TrackedSelect, TakesABranchOrCoversBoth) {
  const Under under(Dtype::f32);
  const T a = input(1) * input(f(0.1)), b = input(5);
  EXPECT_TRUE(select(Tri{true, true}, a, b).pending);
  const T hull = select(Tri{false, false}, input(1), b);
  EXPECT_EQ(hull.value, 5);
  EXPECT_EQ(hull.may_be, 0);
  EXPECT_NEAR(hull.error, 4, 1e-10);
  EXPECT_TRUE(finish(select(Tri{true, false}, input(1), input(NAN))).contains(NAN));
  EXPECT_TRUE(finish(select(Tri{true, false}, input(1), input(HUGE_VAL))).contains(HUGE_VAL));
}

TEST(Tri, IsKleenesLogic) {
  const Tri yes{true, true}, no{false, true}, maybe{true, false};
  EXPECT_TRUE((no && maybe).sure);
  EXPECT_FALSE((no && maybe).value);
  EXPECT_FALSE((yes && maybe).sure);
  EXPECT_TRUE((yes || maybe).sure);
  EXPECT_TRUE((yes || maybe).value);
  EXPECT_FALSE((no || maybe).sure);
  EXPECT_FALSE((!maybe).sure);
}

}  // namespace
}  // namespace assay::testing
