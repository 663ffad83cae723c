// Results of integer dtypes: what is copied is exact, and what real numbers are rounded to is a set of integers.
#include <gtest/gtest.h>

#include "calls.h"

namespace assay::testing {
namespace {

constexpr double kInf = HUGE_VAL;

// Every reading agrees, and the strict interval holds nothing else.
void expect(Call& c, const std::vector<double>& results) {
  Evaluation& e = c.evaluate();
  ASSERT_EQ(c.values(), results);
  for (std::size_t n = 0; n < results.size(); ++n) {
    const auto k = static_cast<std::int64_t>(n);
    const Interval i = e.interval(0, k, {});
    EXPECT_EQ(i.lower, results[n]) << n;
    EXPECT_EQ(i.upper, results[n]) << n;
    EXPECT_FALSE(i.exact_zero_sign) << n;  // integers have one zero
    EXPECT_TRUE(e.truth_inside(0, k, i)) << n;
  }
}

std::unique_ptr<Call> quantize(Dtype dtype, double scale, std::int64_t zero_point, std::vector<double> x) {
  auto c = std::make_unique<Call>("quantize_per_tensor");
  const auto n = static_cast<std::int64_t>(x.size());
  c->tensor(Dtype::f32, {n}, std::move(x)).real(scale).integer(zero_point).dtype(dtype);
  return c;
}

TEST(Clone, KeepsIntegersOfEveryDtype) {
  for (const Dtype d : {Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8, Dtype::boolean}) {
    const IntegerRange range = integer_range(d);
    Call c("clone");
    c.tensor(d, {4}, {range.least, 0, 1, range.greatest}).none();
    expect(c, {range.least, 0, 1, range.greatest});
    EXPECT_EQ(c.outputs()[0].dtype, d);
  }
}

TEST(Integers, WrapAsTwosComplementDoes) {
  Call add("add.Tensor");
  add.tensor(Dtype::i8, {3}, {127, -128, 100}).tensor(Dtype::i8, {3}, {1, -1, 100}).integer(1);
  expect(add, {-128, 127, -56});
  Call sub("sub.Tensor");
  sub.tensor(Dtype::u8, {2}, {0, 200}).tensor(Dtype::u8, {2}, {1, 50}).integer(3);
  expect(sub, {253, 50});
  Call mul("mul.Tensor");
  mul.tensor(Dtype::i32, {2}, {65536, -3}).tensor(Dtype::i32, {2}, {65536, 5});
  expect(mul, {0, -15});
}

// The results of PyTorch 1.13.1.
TEST(Integers, ProductsOfMatricesWrap) {
  Call c("addmm");
  c.tensor(Dtype::i8, {2, 2}, {100, -100, 77, 3});
  c.tensor(Dtype::i8, {2, 2}, {100, -100, 77, 3}).tensor(Dtype::i8, {2, 2}, {100, -100, 77, 3});
  c.integer(2).integer(3);
  expect(c, {-68, -124, -117, -27});
  Call linear("linear");
  linear.tensor(Dtype::u8, {1, 2}, {100, 156}).tensor(Dtype::u8, {2, 2}, {100, 156, 77, 3});
  linear.tensor(Dtype::u8, {2}, {100, 156});
  expect(linear, {132, 132});
}

// A factor, too.
TEST(Integers, AreExactBeyondWhatADoubleHolds) {
  Call sum("add.Tensor");
  sum.tensor(Dtype::i64, {1}, {1}).tensor(Dtype::i64, {1}, {3}).integer((std::int64_t{1} << 53) + 1);
  std::vector<std::int64_t> scaled(1);
  ASSERT_TRUE(sum.evaluate().integers(0, scaled));
  EXPECT_EQ(scaled[0], 1 + 3 * ((std::int64_t{1} << 53) + 1));

  Call mul("mul.Tensor");
  mul.tensor(Dtype::i64, {1}, {0x1p53 - 1}).tensor(Dtype::i64, {1}, {3});
  std::vector<std::int64_t> exact(1);
  ASSERT_TRUE(mul.evaluate().integers(0, exact));
  EXPECT_EQ(exact[0], 3 * ((std::int64_t{1} << 53) - 1));
  Call power("mul.Tensor");
  power.tensor(Dtype::i64, {1}, {0x1p53 - 1}).tensor(Dtype::i64, {1}, {0x1p53 - 1});
  ASSERT_TRUE(power.evaluate().integers(0, exact));
  EXPECT_EQ(exact[0], 1 - (std::int64_t{1} << 54));  // modulo 2^64
  Call real("mul.Tensor");
  real.tensor(Dtype::f32, {1}, {2}).tensor(Dtype::i32, {1}, {3});
  EXPECT_FALSE(real.evaluate().integers(0, exact));
  EXPECT_EQ(real.outputs()[0].dtype, Dtype::f32);
}

// As in PyTorch: the tensor with dimensions decides the dtype, to which the other is converted before they are compared.
TEST(Integers, AreConvertedToTheResultsDtypeFirst) {
  Call c("maximum");
  c.tensor(Dtype::i64, {}, {-1}).tensor(Dtype::u8, {2}, {1, 255});
  expect(c, {255, 255});
  EXPECT_EQ(c.outputs()[0].dtype, Dtype::u8);
}

TEST(Integers, SumTo64BitsUnlessAskedForLess) {
  Call wide("sum.dim_IntList");
  wide.tensor(Dtype::i8, {3}, {100, 100, 100}).none().boolean(false).none();
  expect(wide, {300});
  EXPECT_EQ(wide.outputs()[0].dtype, Dtype::i64);
  Call narrow("sum.dim_IntList");
  narrow.tensor(Dtype::i8, {3}, {100, 100, 100}).none().boolean(false).dtype(Dtype::u8);
  expect(narrow, {44});
  Call running("cumsum");
  running.tensor(Dtype::u8, {3}, {200, 100, 7}).integer(0).none();
  expect(running, {200, 300, 307});
}

// The results of PyTorch 1.13.1; it traps at the last two of i64.
TEST(Integers, AreDividedTowardsZeroOrDownwards) {
  const auto quotients = [](Dtype d, const char* mode, std::vector<double> x, std::vector<double> y) {
    auto c = std::make_unique<Call>("div.Tensor_mode");
    const auto n = static_cast<std::int64_t>(x.size());
    c->tensor(d, {n}, std::move(x)).tensor(d, {n}, std::move(y)).string(mode);
    return c;
  };
  expect(*quotients(Dtype::i32, "trunc", {-7, 7, -7, 7, -6}, {2, -2, -2, 2, 2}), {-3, -3, 3, 3, -3});
  expect(*quotients(Dtype::i32, "floor", {-7, 7, -7, 7, -6}, {2, -2, -2, 2, 2}), {-4, -4, 3, 3, -3});
  expect(*quotients(Dtype::u8, "floor", {249, 7, 255}, {2, 254, 255}), {124, 0, 1});
  for (const char* mode : {"trunc", "floor"}) {
    expect(*quotients(Dtype::i8, mode, {-128}, {-1}), {-128});
    expect(*quotients(Dtype::i64, mode, {-0x1p63}, {-1}), {-0x1p63});
  }
}

TEST(Integers, BoundsAreConvertedToTheirDtype) {
  Call c("clamp");
  c.tensor(Dtype::u8, {4}, {251, 0, 5, 120}).integer(-1).integer(3);
  expect(c, {3, 3, 3, 3});
  Call negative("clamp");
  negative.tensor(Dtype::u8, {4}, {251, 0, 5, 120}).integer(3).integer(-3);
  expect(negative, {251, 3, 5, 120});
  Call low("clamp");
  low.tensor(Dtype::i16, {3}, {-5, 0, 5}).integer(3).integer(-3);
  expect(low, {-3, -3, -3});
}

TEST(Integers, MeansAreDividedTowardsZero) {
  Call c("avg_pool2d");
  c.tensor(Dtype::i64, {1, 1, 4}, {-3, -4, 3, 4});
  c.integers({1, 2}).integers({}).integers({0}).boolean(false).boolean(true).none();
  expect(c, {-3, 3});
}

TEST(Integers, AreComparedAsTheyAre) {
  Call where("where.self");
  where.tensor(Dtype::boolean, {2}, {1, 0}).tensor(Dtype::i16, {2}, {-5, 6}).tensor(Dtype::i16, {2}, {7, 8});
  expect(where, {-5, 8});
  Call largest("argmax");
  largest.tensor(Dtype::i32, {4}, {-3, 7, 7, 2}).none().boolean(false);
  expect(largest, {1});
  Call relu("relu");
  relu.tensor(Dtype::i32, {2}, {-3, 7});
  expect(relu, {0, 7});
}

// The first four results of each are those of PyTorch 1.13.1.
TEST(QuantizePerTensor, RoundsTiesToEvenAddsTheZeroPointAndSaturates) {
  expect(*quantize(Dtype::u8, 1, 1, {0.5, 1.5, 2.5, -0.5}), {1, 3, 3, 1});
  expect(*quantize(Dtype::i8, 0.25, 0, {0.125, 0.375, -0.125, -0.375}), {0, 2, 0, -2});
  expect(*quantize(Dtype::u8, 1, 255, {-0.6, 0, 1, -300}), {254, 255, 255, 0});
  expect(*quantize(Dtype::i8, 1, -128, {300, 0, -1, 254.5}), {127, -128, -128, 126});
  // NaN and what no int64 holds: PyTorch gives the least number for all of these.
  expect(*quantize(Dtype::i8, 1, 0, {kInf, -kInf, 1e30, NAN}), {127, -128, 127, -128});
}

TEST(QuantizePerTensor, AdmitsBothNeighboursOnlyWhereTheQuotientIsNearATie) {
  const auto c = quantize(Dtype::u8, 0.00214854861, 0, {0.273939937, 0.2});
  const Contract reciprocal = parse_contract("div=1 -- a product with the reciprocal", Dtype::u8);
  Evaluation& e = c->evaluate();
  const Interval near = e.interval(0, 0, reciprocal), far = e.interval(0, 1, reciprocal);
  EXPECT_EQ(near.lower, 126);  // a set is symmetric around its value: one integer more than need be
  EXPECT_EQ(near.upper, 128);
  EXPECT_EQ(far.lower, 93);
  EXPECT_EQ(far.upper, 93);
}

struct Weights {
  Shape shape;
  std::vector<double> numbers, scale, zero_point;
};

// Of strides and dilations of 1, with scales that are 1 unless said otherwise.
std::unique_ptr<Call> quantized_convolution(Shape shape, std::vector<double> x, double input_zero_point,
                                            const Weights& w, double bias, std::int64_t padding,
                                            double output_scale, std::int64_t output_zero_point) {
  auto c = std::make_unique<Call>("quantized_convolution");
  const std::int64_t outputs = w.shape[0], groups = shape[1] / w.shape[1];
  const auto own = static_cast<std::int64_t>(w.scale.size());
  c->tensor(Dtype::u8, std::move(shape), x).tensor(Dtype::i8, w.shape, w.numbers);
  c->tensor(Dtype::f32, {own}, w.scale).tensor(Dtype::i32, {own}, w.zero_point);
  c->tensor(Dtype::i32, {outputs}, std::vector<double>(static_cast<std::size_t>(outputs), bias));
  c->integers({1}).integers({padding}).integers({1}).integer(groups);
  c->real(1)
      .integer(static_cast<std::int64_t>(input_zero_point))
      .real(output_scale)
      .integer(output_zero_point);
  return c;
}

TEST(QuantizedConvolution, AddsNothingAroundTheImage) {
  const Weights w{{1, 1, 2}, {2, 3}, {0.5}, {1}};  // stands for 1 and 2
  expect(*quantized_convolution({1, 1, 3}, {10, 20, 30}, 10, w, 0, 1, 1, 3), {3, 13, 28, 13});
  // With zeros around the image, which stand for -10, this would be 250 and 245.
  expect(*quantized_convolution({1, 1, 1}, {10}, 10, w, 0, 1, 1, 255), {255, 255});
}

TEST(QuantizedConvolution, RoundsTiesToEvenBeforeTheZeroPointIsAdded) {
  const Weights w{{1, 1, 2}, {1, 2}, {0.5}, {0}};
  // 0.5, 10.5, 25.5 and 10.5 steps.
  expect(*quantized_convolution({1, 1, 3}, {10, 20, 30}, 10, w, 1, 1, 1, 3), {3, 13, 29, 13});
}

TEST(QuantizedConvolution, GivesEachChannelOfEachGroupItsScaleAndZeroPoint) {
  const Weights w{{4, 1, 1}, {3, -2, 1, 2}, {1, 0.5, 2, 1}, {1, -3, 0, 4}};
  // 4 * 2, 4 * 1, 6 * 1 and 6 * -2
  expect(*quantized_convolution({1, 2, 1}, {5, 7}, 1, w, 0, 0, 2, 10), {14, 11, 16, 4});
}

TEST(DequantizePerTensor, IsExactButForOneRounding) {
  Call c("dequantize_per_tensor");
  c.tensor(Dtype::u8, {3}, {0, 128, 255}).real(0.5).integer(128);
  Evaluation& e = c.evaluate();
  EXPECT_EQ(c.values(), (std::vector<double>{-64, 0, 63.5}));
  EXPECT_EQ(c.outputs()[0].dtype, Dtype::f32);
  for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(e.interval(0, k, {}).lower, e.interval(0, k, {}).upper);
}

// ---- Truth values ---------------------------------------------------------------------------------------------------

TEST(Truths, AreOfBoolWhateverIsCompared) {
  Call c("lt.Tensor");
  c.tensor(Dtype::f32, {5}, {1, 2, std::nan(""), -0.0, -kInf}).tensor(Dtype::f32, {5}, {2, 1, 1, 0, kInf});
  expect(c, {1, 0, 0, 0, 1});
  EXPECT_EQ(c.outputs()[0].dtype, Dtype::boolean);
  EXPECT_EQ(c.outputs()[0].computed_in, Dtype::f32);
  Call integers("ge.Tensor");
  integers.tensor(Dtype::i8, {3}, {-1, 0, 1}).tensor(Dtype::u8, {3}, {255, 0, 0});
  expect(integers, {0, 1, 1});
  EXPECT_EQ(integers.outputs()[0].computed_in, Dtype::i16);
}

// i64 beside f32 is f32, in which 2^24 + 1 is 2^24 (torch 1.13, too).
TEST(Truths, AreOfPromotedNumbers) {
  Call c("eq.Tensor");
  c.tensor(Dtype::i64, {2}, {16777217, 3}).tensor(Dtype::f32, {2}, {16777216, 3});
  expect(c, {1, 1});
}

TEST(Truths, ANumberHasTheDtypeOfTheTensor) {
  Call c("eq.Scalar");
  c.tensor(Dtype::bf16, {2}, {round_to(0.1, format(Dtype::bf16)), 0.25}).real(0.1);
  expect(c, {1, 0});
}

TEST(Truths, OfBits) {
  Call c("bitwise_not");
  c.tensor(Dtype::boolean, {2}, {0, 1});
  expect(c, {1, 0});
  Call numbers("bitwise_xor.Tensor");
  numbers.tensor(Dtype::u8, {2}, {12, 255}).tensor(Dtype::u8, {2}, {10, 255});
  expect(numbers, {6, 0});
}

TEST(Integers, PowersWrap) {
  Call c("pow.Tensor_Tensor");
  c.tensor(Dtype::i8, {6}, {2, 3, -1, -1, 5, 0}).tensor(Dtype::i8, {6}, {7, 5, -3, -2, -1, 0});
  expect(c, {-128, -13, -1, 1, 0, 1});
}

}  // namespace
}  // namespace assay::testing
