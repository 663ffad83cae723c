// native_layer_norm: its three results, their special rows, and what affine=folded admits. The expected results are those
// of PyTorch 1.13.1, run once and written down, except where rows are too large for it.
#include <gtest/gtest.h>

#include "calls.h"

namespace assay::testing {
namespace {

std::unique_ptr<Call> layer_norm(const std::vector<double>& x, double eps, Shape shape = {},
                                 std::vector<std::int64_t> last = {}) {
  auto c = std::make_unique<Call>("native_layer_norm");
  if (shape.empty()) shape = {static_cast<std::int64_t>(x.size())};
  if (last.empty()) last = {shape.back()};
  c->tensor(Dtype::f32, shape, x).integers(last).none().none().real(eps);
  c->evaluate();
  return c;
}

TEST(LayerNorm, NormalisesRowsOfAnyNumberOfDimensions) {
  const auto c = layer_norm({1, 3, -1, 1, 0, 8, 4, 4}, 0, {2, 2, 2}, {2, 2});
  EXPECT_EQ(c->outputs()[1].shape, (Shape{2, 1, 1}));
  EXPECT_EQ(c->outputs()[2].shape, (Shape{2, 1, 1}));
  EXPECT_EQ(c->values(1), (std::vector<double>{1, 4}));
  EXPECT_EQ(c->values(2), (std::vector<double>{1 / std::sqrt(2.0), 1 / std::sqrt(8.0)}));
  EXPECT_EQ(c->values(0)[1], 2 / std::sqrt(2.0));
  EXPECT_EQ(c->values(0)[4], -4 / std::sqrt(8.0));
}

TEST(LayerNorm, AddsEpsUnderTheRoot) {
  const auto c = layer_norm({-1, 1}, 3);
  EXPECT_EQ(c->values(2)[0], 0.5);
  EXPECT_EQ(c->values(0), (std::vector<double>{-0.5, 0.5}));
}

TEST(LayerNorm, TakesWeightAndBiasByTheirPlaceInTheRow) {
  Call c("native_layer_norm");
  c.tensor(Dtype::f32, {2, 2}, {-1, 1, 3, 1})
      .integers({2})
      .tensor(Dtype::f32, {2}, {2, 4})
      .tensor(Dtype::f32, {2}, {10, 20})
      .real(0);
  c.evaluate();
  EXPECT_EQ(c.values(), (std::vector<double>{8, 24, 12, 16}));
}

TEST(LayerNormBackward, GivesTheNumbersOfTheFormula) {
  Call c(
      "native_layer_norm_backward");  // rows (-1, 1) and (3, 7), whose means are 0 and 5 and deviations 1 and 2
  c.tensor(Dtype::f32, {2, 2}, {1, 3, 2, -2})
      .tensor(Dtype::f32, {2, 2}, {-1, 1, 3, 7})
      .integers({2})
      .tensor(Dtype::f32, {2, 1}, {0, 5})
      .tensor(Dtype::f32, {2, 1}, {1, 0.25})
      .tensor(Dtype::f32, {2}, {2, 4})
      .tensor(Dtype::f32, {2}, {0, 0})
      .booleans({1, 1, 1});
  c.evaluate();
  // g = (2, 12) and (4, -8), x = (-1, 1) and (-0.5, 0.5), mean(g) = 7 and -2, mean(g x) = 5 and -3.
  EXPECT_EQ(c.values(0), (std::vector<double>{0, 0, 1.125, -1.125}));
  EXPECT_EQ(c.values(1), (std::vector<double>{-2, 2}));
  EXPECT_EQ(c.values(2), (std::vector<double>{3, 1}));
}

TEST(LayerNorm, OfARowWithAnInfinityIsNan) {
  const Contract updating = parse_contract("moments=updating -- test", Dtype::f32);
  for (const auto& row : {std::vector<double>{1, 2, HUGE_VAL}, {-HUGE_VAL, 0, 2}, {HUGE_VAL, 1, -HUGE_VAL}}) {
    const auto c = layer_norm(row, 1e-5);
    for (const Contract& k : {Contract{}, updating}) {
      for (std::int64_t e = 0; e < 3; ++e) {
        EXPECT_TRUE(c->evaluate().interval(0, e, k).contains(NAN));
        EXPECT_FALSE(c->evaluate().interval(0, e, k).contains(0));
      }
      EXPECT_FALSE(c->evaluate().interval(1, 0, k).contains(0));
      EXPECT_FALSE(c->evaluate().interval(2, 0, k).contains(1));
    }
  }
}

TEST(LayerNorm, OfEqualNumbersWithoutEps) {
  const auto c = layer_norm({2, 2, 2, 2}, 0);
  EXPECT_TRUE(std::isnan(c->values(0)[0]));
  EXPECT_EQ(c->values(1)[0], 2);
  EXPECT_EQ(c->values(2)[0], HUGE_VAL);
  EXPECT_TRUE(c->evaluate().interval(2, 0, {}).contains(HUGE_VAL));
  EXPECT_FALSE(c->evaluate().interval(2, 0, {}).contains(1e30));
  EXPECT_TRUE(c->evaluate().interval(0, 1, {}).contains(NAN));
  const auto nan = layer_norm({2, NAN}, 1e-5);
  for (int output = 0; output < 3; ++output) {
    EXPECT_TRUE(std::isnan(nan->values(output)[0]));
    EXPECT_FALSE(nan->evaluate().interval(output, 0, {}).contains(0));
  }
}

TEST(LayerNorm, OfARowFarFromZeroIsNotUndecidable) {
  const auto c = layer_norm({1000, 1001, 1002, 1005}, 1e-5);
  for (std::int64_t k = 0; k < 4; ++k) EXPECT_LT(c->evaluate().interval(0, k, {}).relative_width(), 1e-2);
}

// (x - mean) * rstd, and x * rstd - mean * rstd, both in f32.
TEST(LayerNorm, AdmitsTheFoldedFormByItsClauseOnly) {
  const std::vector<double> x{4097, 4098, 4099, 4102};  // whose mean is 4099
  const auto c = layer_norm(x, 0);
  const auto rstd = static_cast<float>(c->values(2)[0]);
  const float shift = -4099.0f * rstd;
  const Contract folded = parse_contract("affine=folded -- test", Dtype::f32);
  int outside = 0;
  for (std::int64_t k = 0; k < 4; ++k) {
    const auto v = static_cast<float>(x[static_cast<std::size_t>(k)]);
    const float product = v * rstd;
    outside += !c->evaluate().interval(0, k, {}).contains(product + shift);
    EXPECT_TRUE(c->evaluate().interval(0, k, folded).contains(product + shift));
    EXPECT_TRUE(c->evaluate().interval(0, k, {}).contains((v - 4099) * rstd));
    EXPECT_FALSE(c->evaluate().interval(0, k, folded).contains((v - 4098) * rstd));
  }
  EXPECT_GT(outside, 0);
}

// The scale may be rstd * weight and the shift bias - mean * scale, or the weight and the bias may come after. Neither is
// without the clause, and another mean never.
TEST(LayerNorm, AdmitsWeightAndBiasInScaleAndShiftByTheClauseOnly) {
  const std::vector<double> x{4097, 4098, 4099, 4102}, weight{1.25, -0.75, 3, 0.3125},
      bias{0.5, -2, 0.125, 1};
  Call c("native_layer_norm");
  c.tensor(Dtype::f32, {4}, x)
      .integers({4})
      .tensor(Dtype::f32, {4}, weight)
      .tensor(Dtype::f32, {4}, bias)
      .real(0);
  c.evaluate();
  const auto rstd = static_cast<float>(c.values(2)[0]);
  const Contract clause = parse_contract("affine=folded -- test", Dtype::f32);
  int outside = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto v = static_cast<float>(x[k]), w = static_cast<float>(weight[k]),
               b = static_cast<float>(bias[k]);
    const float scale = rstd * w, of_mean = 4099.0f * scale, product = v * scale;
    const float shift = b - of_mean, gathered = product + shift;
    const float line = v * rstd + -4099.0f * rstd, after = line * w + b;
    const auto admits = [&](double y, const Contract& by) {
      return c.evaluate().interval(0, static_cast<std::int64_t>(k), by).contains(y);
    };
    outside += !admits(gathered, {});
    EXPECT_TRUE(admits(gathered, clause)) << k;
    EXPECT_TRUE(admits(after, clause)) << k;
    EXPECT_FALSE(admits((v - 4098) * rstd * w + b, clause)) << k;
  }
  EXPECT_GT(outside, 0);
}

}  // namespace
}  // namespace assay::testing
