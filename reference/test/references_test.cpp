// What each reference says where a formula could be read in more than one way. The expected results are those of
// PyTorch 1.13.1 on a CPU, run once and written down.
#include <gtest/gtest.h>

#include "calls.h"

namespace assay::testing {
namespace {

constexpr double kInfinite = HUGE_VAL;

// NaN equals NaN, and zeros differ by their sign.
::testing::AssertionResult same(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return ::testing::AssertionSuccess();
  if (a == b && std::signbit(a) == std::signbit(b)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << a << " is not " << b;
}

// Every reading agrees: the value in double, the 191-bit value, and the strict interval, which holds nothing else.
void expect_values(Call& c, const std::vector<double>& results, int output = 0) {
  Evaluation& e = c.evaluate();
  const std::vector<double> values = c.values(output);
  ASSERT_EQ(values.size(), results.size());
  for (std::size_t n = 0; n < results.size(); ++n) {
    const auto k = static_cast<std::int64_t>(n);
    EXPECT_TRUE(same(values[n], results[n])) << n;
    const Interval i = e.interval(output, k, {});
    EXPECT_TRUE(i.contains(results[n])) << n;
    EXPECT_EQ(i.contains(NAN), std::isnan(results[n])) << n;
    if (std::isfinite(results[n])) {
      EXPECT_EQ(i.lower, results[n]) << n;
      EXPECT_EQ(i.upper, results[n]) << n;
    }
    EXPECT_TRUE(e.truth_inside(output, k, i)) << n;
  }
}

TEST(Relu, KeepsNanAndTheSignOfZero) {
  Call c("relu");
  c.tensor(Dtype::f32, {7}, {1, -1, 0.0, -0.0, NAN, kInfinite, -kInfinite});
  expect_values(c, {1, 0, 0.0, -0.0, NAN, kInfinite, 0});
}

TEST(Add, ConvertsToTheResultsDtypeFirst) {
  Call c("add.Tensor");
  c.tensor(Dtype::f64, {}, {1 + 0x1p-40}).tensor(Dtype::f32, {2}, {1, -1}).integer(1);
  expect_values(c, {2, 0});
  EXPECT_EQ(c.outputs()[0].dtype, Dtype::f32);
  Call d("add.Tensor");
  d.tensor(Dtype::f64, {}, {1e300}).tensor(Dtype::f32, {1}, {1}).integer(1);
  expect_values(d, {kInfinite});
  Call e("add.Tensor");
  e.tensor(Dtype::f16, {1}, {1}).tensor(Dtype::bf16, {1}, {0x1p-20}).integer(1);
  expect_values(e, {1 + 0x1p-20});
  EXPECT_EQ(e.outputs()[0].dtype, Dtype::f32);
}

TEST(Add, Broadcasts) {
  Call c("add.Tensor");
  c.tensor(Dtype::f32, {2, 1, 3}, {1, 2, 3, 4, 5, 6}).tensor(Dtype::f32, {2, 1}, {10, 20}).integer(2);
  expect_values(c, {21, 22, 23, 41, 42, 43, 24, 25, 26, 44, 45, 46});
}

TEST(Add, OfInfinitiesAndZeros) {
  Call c("add.Tensor");
  c.tensor(Dtype::f32, {4}, {kInfinite, 1, -0.0, -0.0})
      .tensor(Dtype::f32, {4}, {kInfinite, kInfinite, 0.0, -0.0})
      .integer(-1);
  expect_values(c, {NAN, -kInfinite, -0.0, 0.0});
  Call d("add.Tensor");
  d.tensor(Dtype::f32, {1}, {1}).tensor(Dtype::f32, {1}, {kInfinite}).integer(0);
  expect_values(d, {NAN});
}

TEST(Add, AdmitsAFactorInEitherPrecision) {
  Call c("add.Tensor");
  c.tensor(Dtype::f32, {1}, {0}).tensor(Dtype::f32, {1}, {3}).real(0.1);
  const Interval i = c.evaluate().interval(0, 0, {});
  EXPECT_TRUE(i.contains(static_cast<double>(0.1f * 3)));
  EXPECT_TRUE(i.contains(static_cast<double>(static_cast<float>(0.1 * 3))));
}

TEST(Embedding, TakesRowsAndLeavesPaddingToTheGradient) {
  Call c("embedding");
  c.tensor(Dtype::f32, {3, 2}, {1, -0.0, NAN, 4, kInfinite, 6})
      .tensor(Dtype::i64, {2, 2}, {2, 0, 1, 0})
      .integer(0)
      .boolean(true)
      .boolean(false);
  expect_values(c, {kInfinite, 6, 1, -0.0, NAN, 4, 1, -0.0});
  EXPECT_EQ(c.outputs()[0].shape, (Shape{2, 2, 2}));
}

TEST(Prelu, AtZeroAndNan) {
  const auto call = [](double weight) {
    auto c = std::make_unique<Call>("prelu");
    c->tensor(Dtype::f32, {1, 3}, {0.0, -0.0, NAN}).tensor(Dtype::f32, {1}, {weight});
    return c;
  };
  expect_values(*call(0.25), {0.0, -0.0, NAN});
  expect_values(*call(NAN), {NAN, NAN, NAN});
  expect_values(*call(kInfinite), {NAN, NAN, NAN});
  expect_values(*call(-1), {-0.0, 0.0, NAN});
}

TEST(Prelu, TakesTheSlopeOfDimensionOne) {
  Call c("prelu");
  c.tensor(Dtype::f32, {2, 2, 2}, {-1, -1, -1, -1, -1, 2, -1, 2}).tensor(Dtype::f32, {2}, {0.5, 0.25});
  expect_values(c, {-0.5, -0.5, -0.25, -0.25, -0.5, 2, -0.25, 2});
  Call scalar("prelu");
  scalar.tensor(Dtype::f32, {}, {-2}).tensor(Dtype::f32, {1}, {0.5});
  expect_values(scalar, {-1});
}

TEST(PreluBackward, FollowsAtenAtEveryKink) {
  struct Row {
    double x, grad, grad_self, grad_weight;
  };
  for (const Row& r : std::initializer_list<Row>{{1, 1, 1, 0},
                                                 {1, NAN, NAN, 0},
                                                 {1, kInfinite, kInfinite, 0},
                                                 {-1, 1, 0.25, -1},
                                                 {-1, NAN, NAN, NAN},
                                                 {-1, kInfinite, kInfinite, -kInfinite},
                                                 {0, 1, 0.25, 0},
                                                 {0, NAN, NAN, NAN},
                                                 {0, kInfinite, kInfinite, NAN},
                                                 {-0.0, kInfinite, kInfinite, NAN},
                                                 {NAN, 1, 0.25, NAN},
                                                 {NAN, 0, 0, NAN},
                                                 {kInfinite, 1, 1, 0},
                                                 {kInfinite, NAN, NAN, 0},
                                                 {-kInfinite, 1, 0.25, -kInfinite},
                                                 {-kInfinite, 0, 0, NAN}}) {
    Call c("prelu_backward");
    c.tensor(Dtype::f32, {1, 2}, {r.grad, 0})
        .tensor(Dtype::f32, {1, 2}, {r.x, 1})
        .tensor(Dtype::f32, {2}, {0.25, 3});
    SCOPED_TRACE(::testing::Message() << "x " << r.x << " grad " << r.grad);
    expect_values(c, {r.grad_self, 0});
    expect_values(c, {r.grad_weight, 0}, 1);
  }
}

TEST(PreluBackward, SumsOverAllButTheChannel) {
  Call c("prelu_backward");
  c.tensor(Dtype::f32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .tensor(Dtype::f32, {2, 2, 2}, {-1, -1, -1, 1, -1, 1, -2, -2})
      .tensor(Dtype::f32, {2}, {0.5, 0.25});
  expect_values(c, {0.5, 1, 0.75, 4, 2.5, 6, 1.75, 2});
  expect_values(c, {-1 - 2 - 5, -3 - 14 - 16}, 1);
  Call one("prelu_backward");
  one.tensor(Dtype::f32, {1, 2}, {1, 2}).tensor(Dtype::f32, {1, 2}, {-1, -2}).tensor(Dtype::f32, {1}, {0.5});
  expect_values(one, {0.5, 1});
  expect_values(one, {-5}, 1);
}

TEST(Softmax, OfSpecialRows) {
  const auto row = [](std::vector<double> x) {
    auto c = std::make_unique<Call>("softmax.int");
    c->tensor(Dtype::f32, {static_cast<std::int64_t>(x.size())}, x).integer(0).none();
    return c;
  };
  expect_values(*row({kInfinite, 1}), {NAN, NAN});
  expect_values(*row({-kInfinite, -kInfinite}), {NAN, NAN});
  expect_values(*row({-kInfinite, 1}), {0, 1});
  expect_values(*row({NAN, 1}), {NAN, NAN});
  expect_values(*row({3e38, -3e38}), {1, 0});
  expect_values(*row({7, 7, 7, 7}), {0.25, 0.25, 0.25, 0.25});
}

TEST(Softmax, OfScalarsAndEmptyTensors) {
  Call scalar("softmax.int");
  scalar.tensor(Dtype::f32, {}, {3}).integer(-1).none();
  expect_values(scalar, {1});
  for (const Shape& shape : {Shape{0, 3}, Shape{2, 0}}) {
    Call c("softmax.int");
    c.tensor(Dtype::f32, shape, {}).integer(1).none();
    c.evaluate();
    EXPECT_TRUE(c.values().empty());
  }
}

TEST(Softmax, ConvertsToItsDtypeFirst) {
  Call c("softmax.int");
  c.tensor(Dtype::f32, {2}, {1 + 0x1p-20, 1}).integer(0).dtype(Dtype::bf16);  // equal as bf16
  expect_values(c, {0.5, 0.5});
  EXPECT_EQ(c.outputs()[0].dtype, Dtype::bf16);
}

TEST(Softmax, RunsAlongItsDimension) {
  Call c("softmax.int");
  c.tensor(Dtype::f64, {2, 2, 2}, {0, 1, 0, 1, 5, 2, 5, 2}).integer(1).none();
  expect_values(c, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
}

TEST(Mm, OfEmptyAndSpecialOperands) {
  Call empty("mm");
  empty.tensor(Dtype::f32, {2, 0}, {}).tensor(Dtype::f32, {0, 2}, {});
  expect_values(empty, {0, 0, 0, 0});
  Call nan("mm");
  nan.tensor(Dtype::f32, {1, 2}, {0, kInfinite}).tensor(Dtype::f32, {2, 1}, {1, 0});
  expect_values(nan, {NAN});
  Call c("mm");
  c.tensor(Dtype::f32, {2, 2}, {1, 2, 3, 4}).tensor(Dtype::f32, {2, 2}, {5, 6, 7, 8});
  expect_values(c, {19, 22, 43, 50});
}

TEST(Mm, OfMinusZerosIsAZeroOfEitherSign) {
  Call c("mm");
  c.tensor(Dtype::f32, {1, 1}, {-0.0}).tensor(Dtype::f32, {1, 1}, {1});
  const Interval i = c.evaluate().interval(0, 0, {});
  EXPECT_TRUE(i.contains(0.0));  // torch
  EXPECT_TRUE(i.contains(-0.0));
}

}  // namespace
}  // namespace assay::testing
