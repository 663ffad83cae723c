// native_batch_norm and what gives new running statistics, too: which elements are a channel, given statistics and
// computed ones, and what special channels give. The expected results are those of PyTorch 1.13.1, run once and written
// down, but where a variance of 0 meets an eps of 0.
#include <gtest/gtest.h>

#include "calls.h"

namespace assay::testing {
namespace {

using List = std::vector<double>;

std::unique_ptr<Call> batch_norm(const List& x, const Shape& shape, bool training, double eps,
                                 const std::vector<List>& lists = {{}, {}, {}, {}}) {
  auto c = std::make_unique<Call>("native_batch_norm");
  c->tensor(Dtype::f32, shape, x);
  for (const List& list : lists) {
    if (list.empty())
      c->none();
    else
      c->tensor(Dtype::f32, {shape[1]}, list);
  }
  c->boolean(training).real(0.1).real(eps);
  c->evaluate();
  return c;
}

TEST(BatchNorm, NormalisesChannelsOfAllImages) {
  const auto c = batch_norm({1, 3, 0, 8, -1, 1, 4, 4}, {2, 2, 2}, true, 0);
  EXPECT_EQ(c->outputs()[1].shape, (Shape{2}));
  EXPECT_EQ(c->values(1), (List{1, 4}));
  EXPECT_EQ(c->values(2), (List{1 / std::sqrt(2.0), 1 / std::sqrt(8.0)}));
  EXPECT_EQ(c->values(0)[1], 2 / std::sqrt(2.0));
  EXPECT_EQ(c->values(0)[2], -4 / std::sqrt(8.0));
  EXPECT_EQ(c->values(0)[4], -2 / std::sqrt(2.0));
}

TEST(BatchNorm, TakesStatisticsThatAreGiven) {
  const auto c = batch_norm({1, 2, 3, 4}, {2, 2}, false, 1, {{2, 3}, {10, 20}, {1, 0}, {0, 3}});
  EXPECT_EQ(c->outputs()[1].shape, (Shape{0}));
  EXPECT_EQ(c->outputs()[2].shape, (Shape{0}));
  EXPECT_EQ(c->values(), (List{10, 23, 14, 26}));
}

TEST(BatchNorm, OfANegativeVarianceIsNan) {
  const auto c = batch_norm({1, 2, 3, 4}, {2, 2}, false, 1e-5, {{}, {}, {1, 0}, {-1, 1}});
  for (const std::int64_t k : {0, 2}) {
    EXPECT_TRUE(c->evaluate().interval(0, k, {}).contains(NAN));
    EXPECT_FALSE(c->evaluate().interval(0, k, {}).contains(0));
  }
  for (const std::int64_t k : {1, 3}) EXPECT_FALSE(c->evaluate().interval(0, k, {}).contains(NAN));
}

TEST(BatchNorm, OfEqualNumbersWithoutEpsIsNan) {
  const auto c = batch_norm({2, 1, 2, 3}, {2, 2}, true, 0);
  EXPECT_TRUE(std::isnan(c->values(0)[0]));
  EXPECT_EQ(c->values(2)[0], HUGE_VAL);
  EXPECT_EQ(c->values(0)[1], -1);
  EXPECT_FALSE(c->evaluate().interval(2, 0, {}).contains(0));
}

TEST(BatchNorm, OfAnInfinityIsNanInItsChannel) {
  const auto c = batch_norm({HUGE_VAL, 1, 0, 3}, {2, 2}, true, 0);
  EXPECT_TRUE(std::isnan(c->values(0)[2]));
  EXPECT_EQ(c->values(0)[3], 1);
}

// With a momentum of 1/4.
std::unique_ptr<Call> functional(const List& x, const Shape& shape, bool training, const List& mean,
                                 const List& var) {
  auto c = std::make_unique<Call>("_native_batch_norm_legit_functional");
  c->tensor(Dtype::f32, shape, x).none().none();
  c->tensor(Dtype::f32, {shape[1]}, mean).tensor(Dtype::f32, {shape[1]}, var);
  c->boolean(training).real(0.25).real(1e-5);
  c->evaluate();
  return c;
}

TEST(BatchNormFunctional, MovesRunningStatisticsByMomentumTowardsThoseOfTheSample) {
  const auto c = functional({1, 2, 3, 6}, {2, 2}, true, {10, 20}, {1, 4});
  EXPECT_EQ(c->values(1), (List{2, 4}));
  EXPECT_EQ(c->values(3), (List{8, 16}));
  EXPECT_EQ(c->values(4), (List{1.25, 5}));  // of the variances 2 and 8: the divisor is n - 1
  for (const int output : {3, 4})
    for (std::int64_t k = 0; k < 2; ++k) {
      const Interval i = c->evaluate().interval(output, k, {});
      EXPECT_NEAR(i.upper, i.lower, 1e-4);
    }
}

TEST(BatchNormFunctional, InInferenceLeavesRunningStatisticsAsTheyAre) {
  const auto c = functional({1, 2, 3, 6}, {2, 2}, false, {10, NAN}, {1, -0.0});
  EXPECT_EQ(c->outputs()[1].shape, (Shape{0}));
  EXPECT_EQ(c->outputs()[2].shape, (Shape{0}));
  EXPECT_EQ(c->values(3)[0], 10);
  EXPECT_TRUE(std::isnan(c->values(3)[1]));
  EXPECT_EQ(c->values(4), (List{1, 0}));
  EXPECT_TRUE(std::signbit(c->values(4)[1]));
}

TEST(BatchNormFunctional, OfOneNumberHasNoVariance) {
  const auto c = functional({3, 4}, {1, 2}, true, {7, 8}, {1, 1});
  EXPECT_EQ(c->values(3), (List{6, 7}));
  EXPECT_TRUE(std::isnan(c->values(4)[0]));
  EXPECT_FALSE(c->evaluate().interval(4, 0, {}).contains(0.75));
}

TEST(BatchNormFunctional, OfNoNumbersKeepsTheRestOfTheVariance) {
  const auto c = functional({}, {2, 1, 0}, true, {7}, {1});
  EXPECT_TRUE(std::isnan(c->values(3)[0]));
  EXPECT_EQ(c->values(4), (List{0.75}));
}

}  // namespace
}  // namespace assay::testing
