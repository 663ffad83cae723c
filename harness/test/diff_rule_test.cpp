// Which rule says where two tensors differ: harness/diff/rule.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "diff_numbers.h"
#include "harness/diff/diff.h"

namespace assay::diff {
namespace {

using ::testing::HasSubstr;

struct Planted {
  Shape shape;
  std::function<bool(const Shape& index, double x)> wrong;
  std::string rule;  // a part of what is said
};

void expect_rule(const Planted& p) {
  std::int64_t numel = 1;
  for (const std::int64_t n : p.shape) numel *= n;
  const std::vector<double> x = normal(static_cast<std::size_t>(numel), 7);
  Mask set(static_cast<std::uint64_t>(numel));
  for (std::int64_t i = 0; i < numel; ++i) {
    Shape index(p.shape.size());
    std::int64_t left = i;
    for (std::size_t d = p.shape.size(); d-- > 0;) {
      index[d] = left % p.shape[d];
      left /= p.shape[d];
    }
    if (p.wrong(index, x[static_cast<std::size_t>(i)])) set.set(static_cast<std::uint64_t>(i));
  }
  const auto rule = smallest_rule(p.shape, set, {{"a", [&](std::uint64_t i) { return x[i]; }}});
  ASSERT_TRUE(rule) << p.rule;
  EXPECT_THAT(rule->text, HasSubstr(p.rule));
  EXPECT_GE(rule->precision, 0.99) << rule->text;
  EXPECT_GE(rule->recall, 0.99) << rule->text;
}

TEST(Rule, NamesWhatWasPlanted) {
  expect_rule({{2, 6, 5, 7}, [](const Shape&, double x) { return x < 0; }, "a is below 0"});
  expect_rule({{2, 6, 5, 7}, [](const Shape& i, double) { return i[1] == 3; }, "dimension 1 is 3"});
  expect_rule({{2, 6, 5, 7}, [](const Shape& i, double) { return i[1] != 0; }, "dimension 1 is not 0"});
  expect_rule({{4, 67},
               [](const Shape& i, double) { return i[1] >= 64; },
               "dimension 1 is 64 or more, after the last whole vector of 64"});
  expect_rule({{3, 160},
               [](const Shape& i, double) { return i[1] % 16 >= 13; },
               "dimension 1 modulo 16 is 13 or more"});
  expect_rule({{3, 90}, [](const Shape& i, double) { return i[1] % 9 == 4; }, "dimension 1 modulo 9 is 4"});
  expect_rule({{1, 3, 14, 15},
               [](const Shape& i, double) { return i[2] == 0 || i[2] == 13 || i[3] == 0 || i[3] == 14; },
               "dimension 2 or 3 is on its border"});
  expect_rule({{40, 30}, [](const Shape&, double x) { return std::fabs(x) >= 1.5; }, "|a| is 1.5"});
  expect_rule({{100}, [](const Shape&, double) { return true; }, "everywhere"});
  expect_rule({{7, 11, 4},
               [](const Shape& i, double) { return i[1] == 2 || i[1] == 5 || i[1] == 9; },
               "dimension 1 is one of 2, 5, 9"});
}

// A row-major number modulo something may be as good.
TEST(Rule, SpeaksOfTilesAndRows) {
  expect_rule({{64, 47},
               [](const Shape& i, double) { return i[0] >= 16 && i[0] < 32 && i[1] >= 8 && i[1] < 24; },
               "dimension 0 is 16 to 31 and dimension 1 is 8 to 23"});
  expect_rule(
      {{4, 30, 40},
       [](const Shape& i, double) { return i[0] == 2 && i[1] >= 8 && i[1] < 16 && i[2] >= 10 && i[2] < 20; },
       "dimension 0 is 2 and dimension 1 is 8 to 15 and dimension 2 is 10 to 19"});
  expect_rule(
      {{50, 100}, [](const Shape& i, double) { return i[1] >= 32 && i[1] < 48; }, "dimension 1 is 32 to 47"});
  const auto rule = [] {
    Mask set(50 * 30);
    for (std::uint64_t e = 0; e < set.size(); ++e)
      if (e != 700) set.set(e);
    return smallest_rule({50, 30}, set, {});
  }();
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->text, "everywhere");
}

TEST(Rule, JoinsTwoConditions) {
  expect_rule({{2, 6, 5, 7}, [](const Shape& i, double x) { return x < 0 && i[1] != 0; }, " and "});
  expect_rule({{4, 8, 33}, [](const Shape& i, double x) { return x > 0 && i[2] >= 32; }, " and "});
}

TEST(Rule, OfALargeTensorFromASample) {
  expect_rule(
      {{64, 64, 300}, [](const Shape& i, double) { return i[2] >= 296; }, "dimension 2 is 296 or more"});
  expect_rule({{64, 64, 300}, [](const Shape& i, double x) { return x < 0 && i[0] == 5; }, " and "});
}

TEST(Rule, SaysNothingOfWhatIsScattered) {
  for (const double share : {0.003, 0.1, 0.5, 0.8}) {
    std::mt19937_64 random(3);
    Mask set(5000);
    for (std::uint64_t i = 0; i < 5000; ++i)
      if (std::generate_canonical<double, 53>(random) < share) set.set(i);
    const std::vector<double> x = normal(5000, 8);
    const auto rule = smallest_rule({50, 100}, set, {{"a", [&](std::uint64_t i) { return x[i]; }}});
    EXPECT_FALSE(rule) << share << ": " << rule->text;
  }
  EXPECT_FALSE(smallest_rule({50, 100}, Mask(5000), {}));
}

// A sample of one in sixty has, of five elements, the one in the set and perhaps none of the others that a rule names as well.
TEST(Rule, IsCountedOnTheWholeTensor) {
  const std::vector<double> x = normal(1 << 21, 7);
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return x[i]; });
  const Values values{"a", [&](std::uint64_t i) { return x[i]; }};
  for (const std::size_t rank : {2, 4, 6}) {
    Mask set(x.size());
    set.set(order[rank]);
    const auto rule = smallest_rule({1 << 21}, set, {values});
    EXPECT_FALSE(rule && rule->text.starts_with("a is ") && rule->precision > 1.0 / static_cast<double>(rank))
        << rule->text;
  }
  // One that holds is still found, and its share is no estimate.
  Mask large(x.size());
  std::size_t above = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    above += x[i] > 0 ? 1 : 0;
    if (x[i] > 0 && i != order[0]) large.set(i);
  }
  const auto rule = smallest_rule({1 << 21}, large, {values});
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->text, "a is above 0");
  EXPECT_EQ(rule->precision, static_cast<double>(above - 1) / static_cast<double>(above));
  EXPECT_EQ(rule->recall, 1);
}

}  // namespace
}  // namespace assay::diff
