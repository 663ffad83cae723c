// Functions of Tracked numbers: those to integers, and elementary ones.
#include <gtest/gtest.h>

#include "arithmetic_of_test.h"

namespace assay::testing {
namespace {

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

TEST(TrackedInteger, HalvesGoToTheEvenOne) {
  const Under under(Dtype::f32);
  const auto is = [](const T& t, double least, double greatest) {
    const Interval i = finish(t);
    EXPECT_EQ(i.lower, least);
    EXPECT_EQ(i.upper, greatest);
  };
  is(rint(input(0.5)), 0, 0);
  is(rint(input(1.5)), 2, 2);
  is(rint(input(-2.5)), -2, -2);
  is(rint(around(2.5, 1e-3)), 2, 3);
  is(rint(around(2.25, 0.1)), 2, 2);
  EXPECT_TRUE(std::signbit(finish(rint(input(-0.25))).value));
}

TEST(TrackedInteger, RestsAreExact) {
  const Under under(Dtype::f32);
  const auto is = [](const T& t, double value) {
    const Interval i = finish(t);
    EXPECT_EQ(i.lower, value);
    EXPECT_EQ(i.upper, value);
  };
  is(fmod(input(7), input(3)), 1);
  is(fmod(input(-7), input(3)), -1);
  is(fmod(input(kMax), input(3)), std::fmod(kMax, 3));
  is(fmod(input(5), input(HUGE_VAL)), 5);
  EXPECT_TRUE(finish(fmod(input(5), input(0))).contains(NAN));
  EXPECT_TRUE(finish(fmod(input(HUGE_VAL), input(2))).contains(NAN));
  // Next to a multiple nobody knows which one is taken away.
  const Interval i = finish(fmod(around(6, 1e-3), input(3)));
  EXPECT_TRUE(i.contains(2.9995) && i.contains(0.0005));
}

TEST(TrackedFunction, OfTwoNumbers) {
  const Under under(Dtype::f32, "pow=2ulp atan2=2ulp");
  EXPECT_EQ(finish(pow(input(-2), input(3))).value, -8);
  EXPECT_TRUE(finish(pow(input(-2), input(0.5))).contains(NAN));
  EXPECT_TRUE(finish(pow(input(NAN), input(0))).contains(1));
  // A kernel may hold 0.1 as f32: of what is no positive number that is 0, an infinity or NaN all the same.
  const T tenth(0.1);
  ASSERT_NE(tenth.error, 0);
  EXPECT_FALSE(finish(pow(input(0), tenth)).contains(1));
  EXPECT_TRUE(finish(pow(input(0), tenth)).contains(0));
  EXPECT_TRUE(finish(pow(input(-3), tenth)).contains(NAN));
  EXPECT_FALSE(finish(pow(input(-3), tenth)).contains(1));
  EXPECT_TRUE(finish(pow(input(HUGE_VAL), tenth)).contains(HUGE_VAL));
  const double pi = std::acos(-1.0);
  EXPECT_NEAR(finish(atan2(input(0), input(-1))).value, pi, 1e-15);
  EXPECT_TRUE(std::signbit(finish(atan2(input(-0.0), input(1))).value));
  EXPECT_LE(finish(atan2(input(1), input(1))).upper, pi / 4 + 1e-6);
  EXPECT_GE(atan2(around(1, 0.1), around(1, 0.1)).error, 0.09);
  EXPECT_LE(atan2(around(1, 0.1), around(1, 0.1)).error, 0.25);
  // Across the cut the angle may be either.
  const Interval cut = finish(atan2(around(0, 0.1), input(-1)));
  EXPECT_TRUE(cut.contains(-3.1f) && cut.contains(3.1f));
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

}  // namespace
}  // namespace assay::testing
