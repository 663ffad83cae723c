// What calls take, where it is known: operations that textbooks count, and bytes.
#include <gtest/gtest.h>

#include "calls.h"

namespace assay::testing {
namespace {

std::vector<double> ones(std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n), 1.0); }

Call& filled(Call& c, Dtype dtype, const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return c.tensor(dtype, shape, ones(n));
}

TEST(Work, OfAMatrixProduct) {
  constexpr std::int64_t m = 3, k = 7, n = 5;
  Call c("mm");
  filled(filled(c, Dtype::f32, {m, k}), Dtype::f32, {k, n});
  const Work w = c.evaluate().work();
  EXPECT_EQ(w.operations, (Operations{.additions = m * (k - 1) * n, .multiplications = m * k * n}));
  EXPECT_EQ(w.bytes_read, 4 * (m * k + k * n));
  EXPECT_EQ(w.bytes_written, 4 * m * n);
}

TEST(Work, OfElementwiseOperators) {
  Call relu("relu");
  filled(relu, Dtype::bf16, {6});
  EXPECT_EQ(relu.evaluate().work().operations, Operations{.comparisons = 6});
  EXPECT_EQ(relu.evaluate().work().bytes_read, 12);
  EXPECT_EQ(relu.evaluate().work().bytes_written, 12);

  // One row of other serves three of self, and is read once. alpha meets each of its elements.
  Call add("add.Tensor");
  filled(filled(add, Dtype::f32, {3, 4}), Dtype::f64, {}).real(0.5);
  const Work w = add.evaluate().work();
  EXPECT_EQ(w.operations, (Operations{.additions = 12, .multiplications = 12}));
  EXPECT_EQ(w.bytes_read, 4 * 12 + 8);

  Call integers("mul.Tensor");
  filled(filled(integers, Dtype::i16, {5}), Dtype::i16, {5});
  EXPECT_EQ(integers.evaluate().work().operations, Operations{.multiplications = 5});
}

// Integers are counted like other numbers, also those that no double holds and that wrap; bytes are those of their own dtypes.
TEST(Work, OfIntegers) {
  constexpr double most = 0x1p63 - 1024;  // the largest that a double holds
  Call add("add.Tensor");
  add.tensor(Dtype::i64, {3}, {most, -most, 1}).tensor(Dtype::i64, {3}, {most, most, 0x1p53 + 2}).integer(3);
  EXPECT_EQ(add.evaluate().work().operations, (Operations{.additions = 3, .multiplications = 3}));
  EXPECT_EQ(add.evaluate().work().bytes_read, 2 * 3 * 8);

  Call sum("sum.dim_IntList");
  filled(sum, Dtype::i8, {2, 5}).integers({1}).boolean(false).none();
  EXPECT_EQ(sum.evaluate().work().operations, Operations{.additions = 2 * 4});
  EXPECT_EQ(sum.evaluate().work().bytes_read, 2 * 5);
  EXPECT_EQ(sum.evaluate().work().bytes_written, 2 * 8);  // int64

  Call sums("cumsum");
  filled(sums, Dtype::u8, {2, 5}).integer(1).none();
  EXPECT_EQ(sums.evaluate().work().operations, Operations{.additions = 2 * 4});
  EXPECT_EQ(sums.evaluate().work().bytes_written, 2 * 5 * 8);

  Call place("argmax");
  place.tensor(Dtype::i64, {4}, {0x1p53, 0x1p53 + 2, most, -most}).none().boolean(false);
  EXPECT_EQ(place.evaluate().work().operations, Operations{.comparisons = 3});
  EXPECT_EQ(place.evaluate().work().bytes_written, 8);

  // The condition is compared with zero.
  Call where("where.self");
  where.tensor(Dtype::boolean, {4}, {1, 0, 0, 0});
  filled(filled(where, Dtype::i32, {4}), Dtype::i32, {4});
  EXPECT_EQ(where.evaluate().work().operations, Operations{.comparisons = 4});
  EXPECT_EQ(where.evaluate().work().bytes_written, 4 * 4);
}

// A row's maximum and sum count once, not for each of its elements.
TEST(Work, OfSoftmax) {
  constexpr std::int64_t rows = 2, n = 9;
  Call c("softmax.int");
  filled(c, Dtype::f32, {rows, n}).integer(1).none();
  EXPECT_EQ(c.evaluate().work().operations, (Operations{.additions = rows * (n + n - 1),
                                                        .divisions = rows * n,
                                                        .functions = rows * n,
                                                        .comparisons = rows * (n - 1)}));
}

// Statistics count once, although they are results, too; 1 / n is no matter of the numbers, eps neither.
TEST(Work, OfLayerNorm) {
  constexpr std::int64_t rows = 2, n = 8;
  Call c("native_layer_norm");
  filled(c, Dtype::f32, {rows, n}).integers({n}).none().none().real(1e-5);
  const Work w = c.evaluate().work();
  // Mean: n - 1 additions and a division; squares: n differences, n products, n - 1 additions and a division; rstd: an
  // addition, a root, a division, and a comparison that keeps the variance from being negative; results: a difference and a
  // product.
  EXPECT_EQ(w.operations, (Operations{.additions = rows * (n - 1 + n + n - 1 + 1 + n),
                                      .multiplications = rows * 2 * n,
                                      .divisions = rows * 3,
                                      .roots = rows,
                                      .comparisons = rows}));
  EXPECT_EQ(w.bytes_read, 4 * rows * n);
  EXPECT_EQ(w.bytes_written, 4 * (rows * n + 2 * rows));
}

// Zeros around the image are not multiplied, and are not there to be read.
TEST(Work, OfConvolution) {
  Call c("convolution");
  filled(filled(c, Dtype::f32, {1, 1, 3, 3}), Dtype::f32, {1, 1, 3, 3})
      .none()
      .integers({1, 1})
      .integers({1, 1})
      .integers({1, 1})
      .boolean(false)
      .integers({0, 0})
      .integer(1);
  // Of nine windows four have 4 elements of the image, four 6, and one 9.
  constexpr std::int64_t products = 4 * 4 + 4 * 6 + 9;
  const Work w = c.evaluate().work();
  EXPECT_EQ(w.operations, (Operations{.additions = products - 9, .multiplications = products}));
  EXPECT_EQ(w.bytes_read, 4 * (9 + 9));
}

TEST(Work, OfQuantisedProducts) {
  constexpr std::int64_t m = 2, k = 5, n = 3;
  Call c("quantized_linear");
  filled(filled(c, Dtype::u8, {m, k}), Dtype::i8, {n, k})
      .tensor(Dtype::f32, {1}, {0.5})
      .tensor(Dtype::i32, {1}, {0})
      .none()
      .real(0.5)
      .integer(3)
      .real(2)
      .integer(7);
  const Work w = c.evaluate().work();
  EXPECT_GE(w.operations.multiplications, m * k * n);
  EXPECT_LE(w.operations.multiplications, m * k * n + 3 * m * n);  // the factor, and what it meets
  EXPECT_EQ(w.bytes_read, m * k + n * k + 4 + 4);
}

// Of a table only the rows that are asked for.
TEST(Work, OfEmbedding) {
  Call c("embedding");
  filled(c, Dtype::f32, {100, 8})
      .tensor(Dtype::i64, {4}, {7, 7, 3, 99})
      .integer(-1)
      .boolean(false)
      .boolean(false);
  const Work w = c.evaluate().work();
  EXPECT_EQ(w.operations, Operations{});
  EXPECT_EQ(w.bytes_read, 4 * 3 * 8 + 8 * 4);
  EXPECT_EQ(w.bytes_written, 4 * 4 * 8);
}

// Without shuffles and fused operations the adversary computes the formula as it is written: what a kernel in other formats
// gives.
TEST(Rounded, ComputesTheFormulaInTheContractsFormats) {
  constexpr Attack plain{.rounding = Attack::Rounding::nearest, .shuffle = false, .fuse = false, .seed = 1};
  const auto result = [&](Call& c, const char* contract) {
    return c.evaluate().attacked(0, 0, parse_contract(contract, Dtype::f32), plain);
  };
  // 1 + 2^-9 is 1 in bf16, and its square 1 + 2^-8 + 2^-18 in full.
  Call mm("mm");
  mm.tensor(Dtype::f32, {1, 1}, {1 + 0x1p-9}).tensor(Dtype::f32, {1, 1}, {1 + 0x1p-9});
  EXPECT_EQ(result(mm, ""), 1 + 0x1p-8 + 0x1p-18);
  EXPECT_EQ(result(mm, "multiply=bf16 -- test"), 1);
  // 256 + 1 is 256 in bf16, and again; 2048 + 1 is 2048 in f16.
  Call sum("sum.dim_IntList");
  sum.tensor(Dtype::f32, {3}, {256, 1, 1}).none().boolean(false).none();
  EXPECT_EQ(result(sum, ""), 258);
  EXPECT_EQ(result(sum, "accumulate=bf16 -- test"), 256);
  Call large("sum.dim_IntList");
  large.tensor(Dtype::f32, {3}, {2048, 1, 1}).none().boolean(false).none();
  EXPECT_EQ(result(large, "accumulate=f16 -- test"), 2048);
}

}  // namespace
}  // namespace assay::testing
