// What an operator converts before it computes, and what a contract with operands=wide may leave as it is.
#include <gtest/gtest.h>

#include "calls.h"
#include "vocabulary/contract.h"

namespace assay::testing {
namespace {

const Contract kWide = parse_contract("operands=wide -- test", Dtype::bf16);

// Where the rounding shows, the strict contract has one of the two products, and the wide one has both.
TEST(Operands, AZeroDimensionalOneIsRoundedToTheResultFirst) {
  for (const double x : {5.0, 7.0, 11.0}) {
    Call c("mul.Tensor");
    c.tensor(Dtype::bf16, {1}, {x}).tensor(Dtype::f32, {}, {0.123456789});
    const double rounded = round_to(x * round_to(0.123456789, format(Dtype::bf16)), format(Dtype::bf16));
    const double wide = round_to(x * 0.123456789, format(Dtype::bf16));
    Evaluation& e = c.evaluate();
    EXPECT_TRUE(e.interval(0, 0, {}).contains(rounded)) << x;
    EXPECT_EQ(e.interval(0, 0, {}).contains(wide), wide == rounded) << x;
    EXPECT_TRUE(e.interval(0, 0, kWide).contains(rounded)) << x;
    EXPECT_TRUE(e.interval(0, 0, kWide).contains(wide)) << x;
    EXPECT_FALSE(e.interval(0, 0, kWide).contains(wide * 1.02)) << x;
  }
}

// bf16 has 256, 258 and 260.
TEST(Operands, AMeanIsOfConvertedNumbers) {
  Call c("mean.dim");
  c.tensor(Dtype::f64, {2}, {257, 259}).integers({0}).boolean(false).dtype(Dtype::bf16);
  Evaluation& e = c.evaluate();
  EXPECT_EQ(c.values()[0], 258);  // 256 and 260
  Call other("mean.dim");
  other.tensor(Dtype::f64, {2}, {257, 257}).integers({0}).boolean(false).dtype(Dtype::bf16);
  Evaluation& o = other.evaluate();
  EXPECT_TRUE(e.interval(0, 0, kWide).contains(258));
  EXPECT_TRUE(o.interval(0, 0, {}).contains(256));
  EXPECT_FALSE(o.interval(0, 0, {}).contains(258));
  EXPECT_FALSE(o.interval(0, 0, kWide).contains(258));  // 257 is a tie, and goes to 256
  Call apart("mean.dim");
  apart.tensor(Dtype::f64, {2}, {257, 261}).integers({0}).boolean(false).dtype(Dtype::bf16);
  Evaluation& a = apart.evaluate();  // 256 and 260 by rounding: 258; 259 is a tie of 258 and 260
  EXPECT_TRUE(a.interval(0, 0, {}).contains(258));
  EXPECT_FALSE(a.interval(0, 0, {}).contains(260));
  EXPECT_TRUE(a.interval(0, 0, kWide).contains(260));
}

// What overflows when it is rounded may be left as it is.
TEST(Operands, InfinityMayComeOfTheConversionAlone) {
  Call c("div.Tensor");
  c.tensor(Dtype::f16, {1}, {2048}).tensor(Dtype::f32, {}, {131072});
  Evaluation& e = c.evaluate();
  EXPECT_TRUE(e.interval(0, 0, {}).contains(0));
  EXPECT_FALSE(e.interval(0, 0, {}).contains(0.015625));
  EXPECT_TRUE(e.interval(0, 0, kWide).contains(0));
  EXPECT_TRUE(e.interval(0, 0, kWide).contains(0.015625));
}

// Where nothing is converted to fewer bits, the field says nothing.
TEST(Operands, OthersAreReadAsTheyAre) {
  Call c("mul.Tensor");
  c.tensor(Dtype::f32, {1}, {3}).tensor(Dtype::f64, {}, {0.1});
  Evaluation& e = c.evaluate();
  const Interval strict = e.interval(0, 0, {}), wide = e.interval(0, 0, kWide);
  EXPECT_EQ(strict.lower, wide.lower);
  EXPECT_EQ(strict.upper, wide.upper);
}

}  // namespace
}  // namespace assay::testing
