// native_group_norm: which elements are a group, which weight they have, and what special groups give. The expected results
// are those of PyTorch 1.13.1, run once and written down, but for the mean of nothing.
#include <gtest/gtest.h>

#include "calls.h"

namespace assay::testing {
namespace {

std::unique_ptr<Call> group_norm(const std::vector<double>& x, const Shape& shape, std::int64_t groups,
                                 double eps, const std::vector<double>& weight = {},
                                 const std::vector<double>& bias = {}) {
  auto c = std::make_unique<Call>("native_group_norm");
  c->tensor(Dtype::f32, shape, x);
  for (const auto& list : {weight, bias}) {
    if (list.empty())
      c->none();
    else
      c->tensor(Dtype::f32, {shape[1]}, list);
  }
  std::int64_t image = 1;
  for (std::size_t d = 2; d < shape.size(); ++d) image *= shape[d];
  c->integer(shape[0]).integer(shape[1]).integer(image).integer(groups).real(eps);
  c->evaluate();
  return c;
}

TEST(GroupNorm, NormalisesNeighbouringChannelsTogether) {
  const auto c = group_norm({1, 3, -1, 1, 0, 8, 4, 4}, {1, 4, 2}, 2, 0);
  EXPECT_EQ(c->outputs()[1].shape, (Shape{1, 2}));
  EXPECT_EQ(c->values(1), (std::vector<double>{1, 4}));
  EXPECT_EQ(c->values(2), (std::vector<double>{1 / std::sqrt(2.0), 1 / std::sqrt(8.0)}));
  EXPECT_EQ(c->values(0)[1], 2 / std::sqrt(2.0));
  EXPECT_EQ(c->values(0)[4], -4 / std::sqrt(8.0));
}

TEST(GroupNorm, HasAWeightForEachChannel) {
  const auto c = group_norm({-1, 1, 1, -1, 5, 3, 3, 5}, {2, 2, 2}, 1, 0, {2, 4}, {10, 20});
  EXPECT_EQ(c->values(), (std::vector<double>{8, 12, 24, 16, 12, 8, 16, 24}));
  const auto alone = group_norm({-1, 1, 7, 9}, {1, 4}, 2, 0, {1, 2, 3, 4});
  EXPECT_EQ(alone->values(), (std::vector<double>{-1, 2, -3, 4}));
}

TEST(GroupNorm, OfAGroupWithAnInfinityIsNanAndOthersAreNot) {
  const auto c = group_norm({1, HUGE_VAL, -1, 1}, {1, 2, 2}, 2, 0);
  for (const std::int64_t k : {0, 1}) {
    EXPECT_TRUE(c->evaluate().interval(0, k, {}).contains(NAN));
    EXPECT_FALSE(c->evaluate().interval(0, k, {}).contains(0));
  }
  EXPECT_FALSE(c->evaluate().interval(0, 2, {}).contains(NAN));
  EXPECT_EQ(c->values(0)[2], -1);
}

TEST(GroupNorm, OfEqualNumbersWithoutEpsIsNan) {
  const auto c = group_norm({2, 2, 2, 2}, {1, 2, 2}, 1, 0);
  EXPECT_TRUE(std::isnan(c->values(0)[0]));
  EXPECT_EQ(c->values(1)[0], 2);
  EXPECT_EQ(c->values(2)[0], HUGE_VAL);
  EXPECT_FALSE(c->evaluate().interval(2, 0, {}).contains(1e30));
}

TEST(GroupNorm, OfNoElementsHasTheMeanNan) {
  const auto c = group_norm({}, {2, 4, 0}, 2, 1e-5);
  ASSERT_EQ(c->values(1).size(), 4u);
  for (const int output : {1, 2})
    for (const double v : c->values(output)) EXPECT_TRUE(std::isnan(v));
}

// x * scale + shift with the weight in the scale and the bias in the shift, in f32.
TEST(GroupNorm, AdmitsTheFoldedFormByItsClauseOnly) {
  const std::vector<double> x{4097, 4098, 4099, 4102};  // whose mean is 4099
  const auto c = group_norm(x, {1, 1, 4}, 1, 0, {0.7}, {0.3});
  const float scale = static_cast<float>(c->values(2)[0]) * 0.7f, product = -scale * 4099.0f;
  const float shift = product + 0.3f;
  const Contract folded = parse_contract("affine=folded -- test", Dtype::f32);
  int outside = 0;
  for (std::int64_t k = 0; k < 4; ++k) {
    const float scaled = static_cast<float>(x[static_cast<std::size_t>(k)]) * scale;
    outside += !c->evaluate().interval(0, k, {}).contains(scaled + shift);
    EXPECT_TRUE(c->evaluate().interval(0, k, folded).contains(scaled + shift));
  }
  EXPECT_GT(outside, 0);
}

}  // namespace
}  // namespace assay::testing
