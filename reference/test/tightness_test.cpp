// Intervals are as narrow as they can be: one number where every conforming kernel gives that number.
#include <gtest/gtest.h>

#include "random_call.h"

namespace assay::testing {
namespace {

TEST(Tightness, IntegerProductsHaveOneResult) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomCall c(*find_operator("mm"), dtype, Family::integers, seed, 30);
      const std::vector<double> values = c.call.values();
      for (std::size_t k = 0; k < values.size(); ++k) {
        const Interval i = c.evaluation->interval(0, static_cast<std::int64_t>(k), {});
        ASSERT_EQ(i.lower, i.upper) << name(dtype) << " " << c.text;
        ASSERT_EQ(i.lower, round_to(values[k], format(dtype)));
      }
    }
}

TEST(Tightness, TwelveBitsTimesSelectorsHaveOneResult) {
  std::mt19937_64 random(1);
  std::vector<double> a, b;
  for (int k = 0; k < 4 * 4096; ++k) a.push_back(static_cast<double>(random() % 8191) / 4096 - 1);
  for (int k = 0; k < 4096; ++k) b.push_back(static_cast<double>(random() % 3) - 1);
  Call c("mm");
  c.tensor(Dtype::f32, {4, 4096}, a).tensor(Dtype::f32, {4096, 1}, b);
  Evaluation& e = c.evaluate();
  for (int k = 0; k < 4; ++k) EXPECT_EQ(e.interval(0, k, {}).lower, e.interval(0, k, {}).upper);
}

TEST(Tightness, PreluHasTheCorrectlyRoundedResultOnly) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64})
    for (const Family family : {Family::normal, Family::wide, Family::subnormal, Family::offset}) {
      RandomCall c(*find_operator("prelu"), dtype, family, 5);
      for (std::int64_t k = 0; k < c.call.numel(); ++k) {
        const Interval i = c.evaluation->interval(0, k, {});
        ASSERT_TRUE(i.lower == i.upper || i.lower == HUGE_VAL)
            << name(dtype);  // one number, or none but infinity
        ASSERT_TRUE(c.evaluation->truth_inside(0, k, i));
      }
    }
}

TEST(Tightness, AddHasTheRoundedSumAndItsFusedAlternativeOnly) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> x, y;
  for (int k = 0; k < 2000; ++k) {
    x.push_back(static_cast<double>(static_cast<float>(normal(random))));
    y.push_back(static_cast<double>(static_cast<float>(normal(random))));
  }
  Call plain("add.Tensor");
  plain.tensor(Dtype::f32, {2000}, x).tensor(Dtype::f32, {2000}, y).integer(1);
  Evaluation& sums = plain.evaluate();
  Call scaled("add.Tensor");
  scaled.tensor(Dtype::f32, {2000}, x).tensor(Dtype::f32, {2000}, y).real(-1.75);
  Evaluation& fused = scaled.evaluate();
  for (int k = 0; k < 2000; ++k) {
    const auto a = static_cast<float>(x[static_cast<std::size_t>(k)]),
               b = static_cast<float>(y[static_cast<std::size_t>(k)]);
    const Interval one = sums.interval(0, k, {});
    ASSERT_EQ(one.lower, a + b);
    ASSERT_EQ(one.upper, a + b);
    const Interval two = fused.interval(0, k, {});
    const float product = -1.75f * b;
    ASSERT_TRUE(two.contains(a + product));
    ASSERT_TRUE(two.contains(std::fma(-1.75f, b, a)));
    // No more than the product's own rounding moves the sum.
    ASSERT_LE(two.upper - two.lower, 2 * 0x1p-24 * std::fabs(1.75 * static_cast<double>(b)) +
                                         2 * 0x1p-23 * std::fabs(static_cast<double>(a + product)));
  }
}

TEST(Tightness, ACancellingSumKeepsItsScale) {
  // The bound of a sum is that of its terms, not of its value: a kernel has nothing else to go by.
  Call c("mm");
  c.tensor(Dtype::f32, {1, 3}, {1e8, 1, -1e8}).tensor(Dtype::f32, {3, 1}, {1, 1, 1});
  const Interval i = c.evaluate().interval(0, 0, {});
  EXPECT_TRUE(i.contains(0));
  EXPECT_TRUE(i.contains(1));
  EXPECT_LE(i.upper - i.lower, 2 * 2 * 0x1p-24 * 2e8 + 1);
}

TEST(Tightness, LongSumsAreBoundedByTheirLength) {
  // Any order, f32, K = 64: (K-1) u sum|ab| and the pending rounding, to first order.
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> a, b;
  double magnitude = 0;
  for (int k = 0; k < 64; ++k) {
    a.push_back(static_cast<double>(static_cast<float>(normal(random))));
    b.push_back(static_cast<double>(static_cast<float>(normal(random))));
    magnitude += std::fabs(a.back() * b.back());
  }
  Call c("mm");
  c.tensor(Dtype::f32, {1, 64}, a).tensor(Dtype::f32, {64, 1}, b);
  const Interval i = c.evaluate().interval(0, 0, {});
  const double bound =
      (62 + 1 + 1) * 0x1p-24 * magnitude;  // additions but the last, products, and the last rounding
  EXPECT_LE(i.upper - i.value, bound * 1.001);
  EXPECT_GE(i.upper - i.value, bound * 0.9);
}

TEST(Tightness, SoftmaxIsRelativelyAccurate) {
  RandomCall c(*find_operator("softmax.int"), Dtype::f32, Family::normal, 11);
  for (std::int64_t k = 0; k < c.call.numel(); ++k)
    EXPECT_LE(c.evaluation->interval(0, k, {}).relative_width(), 100 * 0x1p-24);
}

}  // namespace
}  // namespace assay::testing
