// `assay diagnose` of a kernel that nobody knows: what it must be allowed, and whether its bound says anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "diagnose_experiment.h"

namespace assay::diagnose {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Diagnosis of_a_stranger(const Experiment& e, bool separate = false) {
  ExpectedOutputs results(e.call.outputs.size());
  results[0] = e.result.packed();
  Evidence evidence(e.call, contract_or_strangers("", e.call), results);
  return diagnose(evidence, {.patience = {}, .stranger = true, .separate = separate});
}

std::vector<std::string> clauses(const Diagnosis& d) {
  std::vector<std::string> all;
  if (d.strictest)
    for (const Allowance& a : d.strictest->needs) all.push_back(a.clause);
  return all;
}

// Rows of numbers around `mean`, normalised in f32, one number after the other or as float sums of eight lanes.
Experiment layer_norm(double mean, double factor) {
  Experiment e(
      "native_layer_norm:f32:input=4x768,normalized_shape=[768],weight=none,bias=none,eps=1e-05:data=normal:seed=5");
  auto& x = std::get<TensorData>(e.call.arguments[0]);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.set(i, mean + x.get(i));
  const auto at = [&](std::int64_t row, std::int64_t k) { return static_cast<float>(x.get(row * 768 + k)); };
  for (std::int64_t row = 0; row < 4; ++row) {
    float lanes[8] = {}, squares[8] = {}, sum = 0, square = 0;
    for (std::int64_t k = 0; k < 768; ++k) lanes[k % 8] += at(row, k);
    for (const float lane : lanes) sum += lane;
    const float m = sum / 768;
    for (std::int64_t k = 0; k < 768; ++k) squares[k % 8] += (at(row, k) - m) * (at(row, k) - m);
    for (const float lane : squares) square += lane;
    const float rstd = 1 / std::sqrt(square / 768 + 1e-5f);
    for (std::int64_t k = 0; k < 768; ++k)
      e.result.set(row * 768 + k, static_cast<double>((at(row, k) - m) * rstd) * factor);
  }
  return e;
}

TEST(Strictest, APlainKernelNeedsNothing) {
  for (const double mean : {0.0, 3.0, 30.0, 1000.0}) {
    const Diagnosis d = of_a_stranger(layer_norm(mean, 1));
    EXPECT_EQ(d.kind, Diagnosis::Kind::no_fault) << mean;
    ASSERT_TRUE(d.strictest);
    EXPECT_THAT(clauses(d), IsEmpty()) << mean;
    EXPECT_EQ(d.strictest->contract, "chain=partial(16)");
    EXPECT_LT(d.strictest->used, 1);
    EXPECT_GT(d.strictest->typical, 0.01) << "this bound is not so wide";
    EXPECT_THAT(to_text(d, Style(false)), HasSubstr("adds in 16 partial sums or more"));
  }
}

// A ten-thousandth too large is inside what updating one number after the other may do in the worst case, and far from what it does.
TEST(Strictest, WhatOnlyAWideBoundAdmitsIsNotAcquitted) {
  const Diagnosis d = of_a_stranger(layer_norm(0, 1.0001));
  EXPECT_EQ(d.kind, Diagnosis::Kind::undecided);
  EXPECT_FALSE(d.fault);
  EXPECT_THAT(clauses(d), ElementsAre("moments=updating", "chain=any"));
  for (const Allowance& a : d.strictest->needs) EXPECT_GT(a.excess, 1) << a.clause;
  EXPECT_LT(d.strictest->typical, 0.01);
  EXPECT_THAT(to_text(d, Style(false)),
              AllOf(HasSubstr("Not decided"), HasSubstr("times as wide as kernels of this kind err")));
  EXPECT_THAT(summary(d), HasSubstr("not decided"));
  EXPECT_THAT(to_json({d}), AllOf(HasSubstr("\"kind\": \"undecided\""), HasSubstr("\"decided\": false")));
}

double as_tf32(double x) {
  int exponent = 0;
  const double m = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(m, 11)), exponent - 11);
}

// Products of which the factors are what `of` makes of them.
Experiment product_of(const std::string& text, double (*of)(double)) {
  Experiment e(text);
  const Shape &a = e.tensor(0).shape, &b = e.tensor(1).shape;
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < a[1]; ++k)
      sum += of(e.tensor(0).get(i / b[1] * a[1] + k)) * of(e.tensor(1).get(k * b[1] + i % b[1]));
    return sum;
  });
  return e;
}

// Where a bound does not decide, a call is named where it does: what is right is right there, and what has the fault has one.
TEST(Strictest, ACallThatDecidesIsNamed) {
  const Diagnosis d =
      of_a_stranger(product_of("mm:f32:self=12x4096,mat2=4096x8:data=normal:seed=3", as_tf32), true);
  ASSERT_EQ(d.kind, Diagnosis::Kind::undecided);
  ASSERT_TRUE(d.nearer);
  ASSERT_TRUE(d.deciding);
  EXPECT_TRUE(d.deciding->shows);
  EXPECT_LT(d.deciding->wide, 100);
  EXPECT_THAT(to_text(d, Style(false)), HasSubstr("assay verify --impl KERNEL --case '" + d.deciding->case_text));
  EXPECT_THAT(to_json({d}), HasSubstr("\"deciding_case\": \"mm:"));
  EXPECT_TRUE(of_a_stranger(product_of(d.deciding->case_text, as_tf32)).fault);
  const Diagnosis right = of_a_stranger(product_of(d.deciding->case_text, [](double x) { return x; }));
  EXPECT_EQ(right.kind, Diagnosis::Kind::no_fault);
}

TEST(Strictest, FivePercentAreAFault) {
  for (const double mean : {0.0, 3.0, 30.0, 100.0}) {
    const Diagnosis d = of_a_stranger(layer_norm(mean, 1.05));
    EXPECT_TRUE(d.fault) << mean;
    EXPECT_FALSE(d.strictest) << "something diverges";
  }
}

// 65,536 times 0.1, one after the other, is 0.06% too large: no partial sums give that, and every such kernel does.
TEST(Strictest, OneTermAfterTheOtherIsSaid) {
  Experiment e("sum.dim_IntList:f32:self=65536,dim=[0],keepdim=false,dtype=none:data=ones:seed=0");
  auto& x = std::get<TensorData>(e.call.arguments[0]);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.set(i, 0.1f);
  float sum = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) sum += 0.1f;
  const Diagnosis d = of_a_stranger(e.fill([&](std::int64_t) { return sum; }));
  EXPECT_EQ(d.kind, Diagnosis::Kind::no_fault) << to_text(d, Style(false));
  EXPECT_THAT(clauses(d), ElementsAre("chain=any"));
  EXPECT_THAT(
      to_text(d, Style(false)),
      AllOf(HasSubstr("adds one term after the other (chain=any): in 16 partial sums, as vectors have them,"),
            HasSubstr("a fault")));
  EXPECT_GT(d.strictest->needs[0].excess, 1.5);
}

TEST(Strictest, FunctionsThatAreALittleOffAreSaid) {
  Experiment e("exp:f32:self=50:data=normal:seed=3");
  Expectation right(e.call);
  const Diagnosis d = of_a_stranger(e.fill([&](std::int64_t i) {
    auto x = static_cast<float>(right.values(0)[static_cast<std::size_t>(i)]);
    for (int k = 0; k < 3; ++k) x = std::nextafter(x, 1e30f);
    return x;
  }));
  EXPECT_EQ(d.kind, Diagnosis::Kind::no_fault);
  EXPECT_THAT(clauses(d), ElementsAre("functions=4ulp"));
}

// Numbers of integers are right to the bit, or not; nothing is there to allow.
TEST(Strictest, IntegersNeedNothing) {
  Experiment e("add.Tensor:i32:self=20,other=20:data=normal:seed=3");
  Expectation right(e.call);
  e.fill(
      [&](std::int64_t i) { return static_cast<double>((*right.integers(0))[static_cast<std::size_t>(i)]); });
  const Diagnosis d = of_a_stranger(e);
  EXPECT_EQ(d.kind, Diagnosis::Kind::no_fault);
  EXPECT_FALSE(d.strictest);
}

// Nobody asks it of a kernel that says what it does.
TEST(Strictest, IsNotAskedOfAKernelWithAContract) {
  const Experiment e = layer_norm(0, 1);
  ExpectedOutputs results(e.call.outputs.size());
  results[0] = e.result.packed();
  Evidence evidence(e.call, parse_contract("", Dtype::f32), results);
  EXPECT_FALSE(diagnose(evidence, {.patience = {}, .separate = false}).strictest);
}

}  // namespace
}  // namespace assay::diagnose
