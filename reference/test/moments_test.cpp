// Moments under moments=updating and moments=one_pass: what kernels that compute so give is inside, although two passes may be
// sharper, and what is computed otherwise stays outside. And positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "calls.h"

namespace assay::testing {
namespace {

using Numbers = std::vector<double>;

Contract contract(const char* clause) { return parse_contract(std::string(clause) + " -- test", Dtype::f32); }

std::unique_ptr<Call> variance(const Numbers& x) {
  auto c = std::make_unique<Call>("var.correction");
  c->tensor(Dtype::f32, {static_cast<std::int64_t>(x.size())}, x).none().none().boolean(false);
  return c;
}

Numbers draw(std::size_t n, double mean, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, 1);
  Numbers x(n);
  for (double& v : x) v = static_cast<float>(normal(random));
  return x;
}

struct Part {
  float n = 0, mean = 0, squares = 0;
};

Part merged(const Part& a, const Part& b) {
  const float n = a.n + b.n, d = b.mean - a.mean, c = b.n / n;
  return {n, a.mean + d * c, a.squares + b.squares + d * d * c * a.n};
}

float welford(const Numbers& x) {
  Part all{1, static_cast<float>(x[0]), 0};
  for (std::size_t k = 1; k < x.size(); ++k) {
    const auto v = static_cast<float>(x[k]);
    const float d = v - all.mean;
    all.n += 1;
    all.mean += d / all.n;
    all.squares += d * (v - all.mean);
  }
  return all.squares / (all.n - 1);
}

// Halves, the first one of which is merged into the second one at the root.
Part halves(const Numbers& x, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return {1, static_cast<float>(x[begin]), 0};
  const std::size_t middle = begin + (end - begin + 1) / 2;
  const Part a = halves(x, begin, middle), b = halves(x, middle, end);
  return begin == 0 ? merged(b, a) : merged(a, b);
}

TEST(MomentsByUpdating, AreAdmittedByTheirClause) {
  for (const double mean : {0.0, 1.0, 1000.0, -1e5})
    for (const std::size_t n : {2u, 3u, 10u, 100u, 1000u})
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Numbers x = draw(n, mean, seed);
        const auto c = variance(x);
        const Interval updating = c->evaluate().interval(0, 0, contract("moments=updating"));
        const Interval strict = c->evaluate().interval(0, 0, {});
        EXPECT_LT(strict.upper - strict.lower, updating.upper - updating.lower);
        const Part parts = halves(x, 0, n);
        for (const float result : {welford(x), parts.squares / (parts.n - 1)}) {
          EXPECT_TRUE(updating.contains(result)) << n << " numbers around " << mean << ": " << result;
        }
      }
}

TEST(MomentsByUpdating, DoNotCoverTheDifferenceOfMeanSquareAndSquaredMean) {
  const Numbers x = draw(100, 1e6, 1);
  float sum = 0, squares = 0;
  for (const double v : x) {
    sum += static_cast<float>(v);
    squares += static_cast<float>(v) * static_cast<float>(v);
  }
  const float result = (squares - sum * sum / 100) / 99;
  EXPECT_FALSE(variance(x)->evaluate().interval(0, 0, contract("moments=updating")).contains(result));
}

// The sums of x and of x^2 in f32, and their difference in the three ways that kernels have.
std::array<float, 3> by_one_pass(const Numbers& x) {
  float sum = 0, squares = 0;
  for (const double v : x) {
    sum += static_cast<float>(v);
    squares += static_cast<float>(v) * static_cast<float>(v);
  }
  const auto n = static_cast<float>(x.size());
  const float mean = sum / n;
  return {(squares - sum * mean) / (n - 1), (squares - n * mean * mean) / (n - 1),
          (squares / n - mean * mean) * n / (n - 1)};
}

TEST(MomentsByOnePass, AreAdmittedByTheirClauseAndByNoOther) {
  const Contract one_pass = contract("moments=one_pass");
  for (const double mean : {0.0, 1.0, 1000.0, -1e5})
    for (const std::size_t n : {2u, 3u, 10u, 100u, 1000u})
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Numbers x = draw(n, mean, seed);
        const auto c = variance(x);
        const Interval i = c->evaluate().interval(0, 0, one_pass);
        for (const float result : by_one_pass(x))
          EXPECT_TRUE(i.contains(result)) << n << " numbers around " << mean << ": " << result;
        if (std::fabs(mean) < 1000 || n < 10) continue;
        EXPECT_FALSE(c->evaluate().interval(0, 0, {}).contains(by_one_pass(x)[0])) << n << " around " << mean;
      }
}

// The square of one number may overflow, and be rounded: nothing less itself is then NaN, or not 0.
TEST(MomentsByOnePass, OfOneNumber) {
  const auto interval = [](double x, const Contract& contract) {
    Call c("var.correction");
    c.tensor(Dtype::f32, {1}, {x}).none().integer(0).boolean(false);
    return c.evaluate().interval(0, 0, contract);
  };
  const Contract one_pass = contract("moments=one_pass");
  EXPECT_TRUE(interval(3e19, one_pass).contains(NAN));
  EXPECT_TRUE(interval(3e19, one_pass).contains(0));
  EXPECT_FALSE(interval(3e19, {}).contains(NAN));
  const double x = 1 + 0x1p-23;
  EXPECT_TRUE(interval(x, one_pass).contains(static_cast<float>(x * x) - x * x));
  EXPECT_FALSE(interval(x, one_pass).contains(1e-6));
}

// The bound is that of an error, and no more: twice the worst result is outside.
TEST(MomentsByOnePass, AdmitNoMoreThanTheirErrors) {
  const Contract one_pass = contract("moments=one_pass");
  for (const double mean : {0.0, 10.0, 1000.0}) {
    const Numbers x = draw(100, mean, 1);
    double sum = 0;
    for (const double v : x) sum += v * v;
    const Interval i = variance(x)->evaluate().interval(0, 0, one_pass);
    EXPECT_LT(i.upper - i.lower, 8 * 0x1p-24 * 100 * sum / 99) << mean;
  }
}

TEST(MomentsByUpdating, AreDecidableAndExactForEqualNumbersOnlyWhereNothingRounds) {
  const auto zeros = variance({0, 0, 0});
  EXPECT_EQ(zeros->evaluate().interval(0, 0, contract("moments=updating")).upper, 0);
  const auto infinite = variance({1, HUGE_VAL, 2});
  EXPECT_TRUE(infinite->evaluate().interval(0, 0, contract("moments=updating")).contains(HUGE_VAL));
  const auto nan = variance({1, NAN, 2});
  const Interval i = nan->evaluate().interval(0, 0, contract("moments=updating"));
  EXPECT_TRUE(i.contains(NAN));
  EXPECT_FALSE(i.contains(1));
}

TEST(MomentsByUpdating, OfAnInfinityAreInfiniteOrNan) {
  const Contract updating = contract("moments=updating");
  const Interval i = variance({1, HUGE_VAL, 2, HUGE_VAL})->evaluate().interval(0, 0, updating);
  EXPECT_TRUE(i.contains(HUGE_VAL));
  EXPECT_TRUE(i.contains(NAN));
  EXPECT_FALSE(i.contains(1));
  EXPECT_FALSE(i.contains(-HUGE_VAL));
  // A number that overflows when it is subtracted from another may make the same of finite ones, and anything of these.
  EXPECT_TRUE(variance({1, HUGE_VAL, 3e38F, -3e38F})->evaluate().interval(0, 0, updating).undecidable());
}

TEST(Variance, DividesByWhatTheCorrectionLeaves) {
  const auto with = [](std::int64_t correction) {
    auto c = std::make_unique<Call>("var.correction");
    c->tensor(Dtype::f32, {4}, {1, 2, 3, 6}).none().integer(correction).boolean(false);
    c->evaluate();
    return c->values()[0];
  };
  EXPECT_EQ(with(0), 3.5);
  EXPECT_EQ(with(2), 7);
  EXPECT_EQ(with(4), HUGE_VAL);
  EXPECT_EQ(with(7), HUGE_VAL);
  const auto one = variance({5});
  one->evaluate();
  EXPECT_TRUE(std::isnan(one->values()[0]));
}

std::unique_ptr<Call> argmax(const Numbers& x) {
  auto c = std::make_unique<Call>("argmax");
  c->tensor(Dtype::f32, {static_cast<std::int64_t>(x.size())}, x).integer(0).boolean(false);
  return c;
}

void expect_places(const Numbers& x, const char* clause, const std::vector<int>& places) {
  const auto c = argmax(x);
  const Interval i = c->evaluate().interval(0, 0, *clause == 0 ? Contract{} : contract(clause));
  for (int k = 0; k < static_cast<int>(x.size()); ++k)
    EXPECT_EQ(i.contains(k), std::ranges::find(places, k) != places.end()) << k << " under " << clause;
  EXPECT_EQ(c->outputs()[0].dtype, Dtype::i64);
  EXPECT_TRUE(c->evaluate().truth_inside(0, 0, i));
}

TEST(Argmax, IsTheFirstUnlessTheContractSaysAny) {
  expect_places({1, 3, 2, 3, 3}, "", {1});
  expect_places({1, 3, 2, 3, 3}, "tie=any", {1, 3, 4});
  expect_places({1, NAN, HUGE_VAL, NAN}, "", {1});
  expect_places({1, NAN, HUGE_VAL, NAN}, "tie=any", {1, 3});
  expect_places({-HUGE_VAL, -HUGE_VAL}, "", {0});
  expect_places({-0.0, 0.0}, "", {0});
}

TEST(Argmax, AmongSubnormalsThatMayBeReadAsZero) {
  expect_places({-1, 1e-40, 2e-40}, "", {2});
  expect_places({-1, 1e-40, 2e-40}, "daz=yes", {1, 2});
  expect_places({0, -1, 2e-40}, "daz=yes", {0, 2});
  expect_places({1e-40, 1}, "daz=yes", {1});
}

TEST(Cumsum, RunsAlongItsDimensionInItsDtype) {
  Call c("cumsum");
  c.tensor(Dtype::f32, {2, 3}, {1, 2, 3, 4, 5, 6}).integer(-1).none();
  c.evaluate();
  EXPECT_EQ(c.values(), (Numbers{1, 3, 6, 4, 9, 15}));
  Call down("cumsum");
  down.tensor(Dtype::f32, {2, 3}, {1 + 0x1p-20, -0.0, 3, 4, 5, 6}).integer(0).dtype(Dtype::bf16);
  down.evaluate();
  EXPECT_EQ(down.values(), (Numbers{1, 0, 3, 5, 5, 9}));
}

}  // namespace
}  // namespace assay::testing
