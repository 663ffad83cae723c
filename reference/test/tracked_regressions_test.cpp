// Mistakes that earlier versions of Tracked made, each as it was found by the adversary.
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
  const T q = around(0, 1e-3) / input(1);
  EXPECT_GE(q.error, 1e-3 * (1 + 2 * 0x1p-24));
}

}  // namespace
}  // namespace assay::testing
