// `assay diagnose`: causes that are true of every element, results that nobody computed, and families of causes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "diagnose_experiment.h"
#include "harness/generate/cases.h"
#include "vocabulary/operators.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// By a kernel of which nothing is known.
Diagnosis of_strangers(const Experiment& e) {
  Evidence evidence(e.call, contract_or_strangers("", e.call),
                    {e.result.packed()});
  return diagnose(evidence, {.patience = {}, .stranger = true, .separate = false});
}

Experiment& fill_with_right(Experiment& e) {
  Expectation right(e.call);
  return e.fill([&](std::int64_t i) { return right.values(0)[static_cast<std::size_t>(i)]; });
}

// 1,000 = 15 * 64 + 40: zero after the last full vector of 64 would be 40 of them, and the first 20 of these are right. A sample of
// some hundred elements has few of those.
TEST(DiagnoseWhole, ACauseMustBeTrueOfElementsThatWereNotSampled) {
  Experiment e("relu:f32:self=40x25:data=uniform:seed=3");
  for (std::int64_t i = 0; i < 1000; ++i)
    std::get<TensorData>(e.call.arguments[0]).set(i, 1 + 0.001 * static_cast<double>(i));
  e.fill([&](std::int64_t i) { return i < 980 ? e.tensor(0).get(i) : 0; });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(first_cause(d), "results.unwritten") << to_text(d, Style(false));
  // Where right results are zeros, too, the end is what they have in common.
  Experiment half("relu:f32:self=40x25:data=normal:seed=3");
  half.fill([&](std::int64_t i) { return i < 980 ? std::max(half.tensor(0).get(i), 0.0) : 0; });
  const Diagnosis end = half.diagnosis();
  EXPECT_EQ(first_cause(end), "results.end_lost") << to_text(end, Style(false));
  EXPECT_THAT(summary(end), HasSubstr("of 1,000 elements"));
  // The cause that is refuted is one where it holds.
  e.fill([&](std::int64_t i) { return i < 960 ? e.tensor(0).get(i) : 0; });
  const Diagnosis held = e.diagnosis();
  EXPECT_EQ(first_cause(held), "results.tail_of_64") << to_text(held, Style(false));
  EXPECT_TRUE(held.causes[0].proven);
  ASSERT_TRUE(held.causes[0].whole);
  EXPECT_EQ(held.causes[0].whole->elements, 1000u);
}

// One element of 20,000 is not as the cause says: it is found, for it is the farthest from that.
TEST(DiagnoseWhole, OneElementRefutesACause) {
  Experiment e("add.Tensor:f32:self=200x100,other=200x100,alpha=1:data=normal:seed=3");
  const auto difference = [&](std::int64_t i) { return e.tensor(0).get(i) - e.tensor(1).get(i); };
  e.fill(difference);
  EXPECT_TRUE(e.diagnosis().causes.at(0).proven);
  e.fill([&](std::int64_t i) { return i == 12'345 ? 7 : difference(i); });
  const Diagnosis d = e.diagnosis();
  EXPECT_NE(d.kind, Diagnosis::Kind::named) << to_text(d, Style(false));
}

// Numbers that nobody computed have no cause, whatever the operator.
TEST(DiagnoseWhole, RandomNumbersHaveNoCause) {
  std::size_t tried = 0, unrelated = 0;
  for (const Operator* op : operators()) {
    if (!op->dtypes.contains(Dtype::f32) || op->schema.result_count != 1 || op->positions != 0) continue;
    for (std::uint64_t i = ladder_length(*op); i < ladder_length(*op) + 120; ++i) {
      const Case c = generate(*op, Dtype::f32, 5, i);
      if (text(c).find(":data=normal:") == std::string::npos)
        continue;  // of few numbers some are right by chance
      Experiment e(text(c));
      if (!e.call.error.empty() || !is_float(e.call.outputs[0].dtype) || e.result.numel() < 100 ||
          e.result.numel() > 2000)
        continue;
      std::mt19937 random(1);
      std::normal_distribution<double> numbers(0.3, 1);
      e.fill([&](std::int64_t) { return numbers(random); });
      const Diagnosis d = e.diagnosis(std::chrono::milliseconds(300));
      if (d.diverging == 0 || d.undecidable > 0) continue;
      ++tried;
      unrelated += d.unrelated ? 1 : 0;
      for (const Named& n : d.causes)
        EXPECT_FALSE(n.explains_all) << text(c) << "\n" << to_text(d, Style(false));
      break;
    }
  }
  EXPECT_GE(tried, 30u);
  EXPECT_GE(unrelated * 4, tried * 3);  // of some the right results are few numbers all the same
}

// One result is foretold for all elements, as of equal rows, and sums in bf16 are off by as much as these numbers are.
TEST(DiagnoseWhole, RandomNumbersInPlaceOfOneHaveNoCause) {
  Experiment e(
      "_log_softmax_backward_data:f32:grad_output=[1536]@expanded(0),output=[1536]@expanded(0),dim=0,input_dtype=f32:data=normal:"
      "seed=4145895369");
  std::mt19937 random(1);
  std::normal_distribution<double> numbers(0.3, 1);
  e.fill([&](std::int64_t) { return numbers(random); });
  const Diagnosis d = e.diagnosis();
  EXPECT_TRUE(d.causes.empty() || !d.causes[0].explains_all) << to_text(d, Style(false));
}

TEST(DiagnoseWhole, OneFactorIsNoTwoFaults) {
  Experiment e("mm:f32:self=16x32,mat2=32x24:data=normal:seed=3");
  Expectation right(e.call);
  e.fill([&](std::int64_t i) { return 4 * right.values(0)[static_cast<std::size_t>(i)]; });
  const Diagnosis d = e.diagnosis(std::chrono::seconds(10));
  EXPECT_EQ(d.kind, Diagnosis::Kind::recovered) << to_text(d, Style(false));
  EXPECT_THAT(summary(d), HasSubstr("4 times what is right"));
}

// What a kernel with narrower arithmetic gives has its errors: others of that size are none of it.
TEST(DiagnoseWhole, ErrorsOfTheSizeOfBf16AreNoBf16) {
  Experiment e("mm:f32:self=16x512,mat2=512x24:data=normal:seed=3");
  Expectation right(e.call);
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, 0.1);
  e.fill([&](std::int64_t i) { return right.values(0)[static_cast<std::size_t>(i)] + error(random); });
  const Diagnosis d = e.diagnosis();
  EXPECT_THAT(first_cause(d), Not(StartsWith("arithmetic.in_"))) << to_text(d, Style(false));
  EXPECT_THAT(first_cause(d), Not(StartsWith("arithmetic.sums_in_"))) << to_text(d, Style(false));
}

// A reciprocal root of 9 bits in a norm: its errors are one for each row, and no order of sums in fewer bits has them.
TEST(DiagnoseWhole, AnApproximationIsNoPairWithNarrowArithmetic) {
  Experiment e(
      "native_layer_norm:f32:input=24x40,normalized_shape=[40],weight=none,bias=none,eps=1e-05:data=normal:seed=3");
  const TensorData& x = e.tensor(0);
  e.fill([&](std::int64_t i) {
    double mean = 0, squares = 0;
    for (std::int64_t k = 0; k < 40; ++k) mean += x.get(i / 40 * 40 + k) / 40;
    for (std::int64_t k = 0; k < 40; ++k)
      squares += (x.get(i / 40 * 40 + k) - mean) * (x.get(i / 40 * 40 + k) - mean);
    const auto v = static_cast<float>(squares / 40 + 1e-5);
    float y = std::bit_cast<float>(0x5f3759df - (std::bit_cast<std::int32_t>(v) >> 1));
    y = y * (1.5f - 0.5f * v * y * y);
    return (x.get(i) - mean) * y;
  });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed(), std::nullopt, std::nullopt});
  const Diagnosis d = diagnose(evidence, {.patience = {}, .separate = false});
  for (const Named& n : d.causes) EXPECT_FALSE(n.beside_arithmetic) << to_text(d, Style(false));
  EXPECT_THAT(first_cause(d), Not(HasSubstr("_in_"))) << to_text(d, Style(false));
}

// What explains what diverges could have shown, though some results are as both it and the reference say.
TEST(DiagnoseWhole, ACauseThatExplainsWhatDivergesIsTried) {
  Experiment e("sum.dim_IntList:f32:self=40x300,dim=[1],keepdim=false:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 300; ++k) sum += round_to(e.tensor(0).get(i * 300 + k), format(Dtype::f16));
    return sum;
  });
  const Diagnosis d = of_strangers(e);
  EXPECT_THAT(first_cause(d).empty() && d.nearer ? d.nearer->name : first_cause(d),
              ::testing::AnyOf("self.as_f16", "self.as_tf32"))
      << to_text(d, Style(false));
}

TEST(DiagnoseFamilies, NumbersMayBeExchanged) {
  Experiment e("addmm:f32:self=6x7,mat1=6x8,mat2=8x7,beta=0.7,alpha=3:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 8; ++k)
      sum += e.tensor(1).get(i / 7 * 8 + k) * e.tensor(2).get(k * 7 + i % 7);
    return 3 * e.tensor(0).get(i) + 0.7 * sum;
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "beta.exchanged_with_alpha");
}

// Of 4,096 terms the bound is wider than tf32 errs, and the results still say it.
TEST(DiagnoseWhole, WhereABoundDoesNotDecideTheNearestCauseIsNamed) {
  Experiment e("mm:f32:self=4x4096,mat2=4096x12:data=normal:seed=3");
  const auto tf32 = [](double x) {
    int exponent = 0;
    const double m = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(m, 11)), exponent - 11);
  };
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4096; ++k)
      sum += tf32(e.tensor(0).get(i / 12 * 4096 + k)) * tf32(e.tensor(1).get(k * 12 + i % 12));
    return sum;
  });
  const Diagnosis d = of_strangers(e);
  EXPECT_EQ(d.kind, Diagnosis::Kind::undecided) << to_text(d, Style(false));
  ASSERT_TRUE(d.nearer);
  EXPECT_EQ(d.nearer->name, "self_and_mat2.as_tf32");
  Evidence evidence(e.call, contract_or_strangers("", e.call), {e.result.packed()});
  const auto doubt = doubt_of(evidence, std::chrono::seconds(20));
  ASSERT_TRUE(doubt && doubt->nearer);
  EXPECT_THAT(summary(*doubt), HasSubstr("self_and_mat2.as_tf32"));
  fill_with_right(e);
  EXPECT_EQ(of_strangers(e).kind, Diagnosis::Kind::no_fault);
  Evidence sound(e.call, contract_or_strangers("", e.call), {e.result.packed()});
  EXPECT_FALSE(doubt_of(sound, std::chrono::seconds(20)));
}

// Right results of kernels that add in any order leave no doubt.
TEST(DiagnoseWhole, SumsInF32LeaveNoDoubt) {
  Experiment e("linear:f32:input=6x768,weight=20x768,bias=20:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    float sum = 0;
    for (std::int64_t k = 0; k < 768; ++k)
      sum += static_cast<float>(e.tensor(0).get(i / 20 * 768 + k)) *
             static_cast<float>(e.tensor(1).get(i % 20 * 768 + k));
    return static_cast<double>(sum + static_cast<float>(e.tensor(2).get(i % 20)));
  });
  Evidence evidence(e.call, contract_or_strangers("", e.call), {e.result.packed()});
  EXPECT_FALSE(doubt_of(evidence, std::chrono::seconds(20)));
}

TEST(DiagnoseFamilies, TermsMayBeLostAtEitherEnd) {
  Experiment e("mm:f32:self=12x64,mat2=64x10:data=normal:seed=3");
  const auto sum = [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
    double s = 0;
    for (std::int64_t k = begin; k < end; ++k)
      s += e.tensor(0).get(i / 10 * 64 + k) * e.tensor(1).get(k * 10 + i % 10);
    return s;
  };
  e.fill([&](std::int64_t i) { return sum(i, 0, 57); });
  EXPECT_EQ(first_cause(e.diagnosis()), "self.last_7_lost");
  e.fill([&](std::int64_t i) { return sum(i, 1, 64); });
  EXPECT_EQ(first_cause(e.diagnosis()), "self.first_1_lost");
}

TEST(DiagnoseFamilies, WeightsMayBeQuantised) {
  Experiment e("linear:f32:input=8x64,weight=16x64,bias=none:data=normal:seed=3");
  std::vector<double> largest(16);
  for (std::int64_t i = 0; i < 16 * 64; ++i)
    largest[static_cast<std::size_t>(i / 64)] =
        std::max(largest[static_cast<std::size_t>(i / 64)], std::fabs(e.tensor(1).get(i)));
  e.fill([&](std::int64_t i) {
    double s = 0;
    for (std::int64_t k = 0; k < 64; ++k) {
      const double scale = largest[static_cast<std::size_t>(i % 16)] / 127;
      s +=
          e.tensor(0).get(i / 16 * 64 + k) * std::nearbyint(e.tensor(1).get(i % 16 * 64 + k) / scale) * scale;
    }
    return s;
  });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(first_cause(d), "weight.as_int8_by_first_dimension") << to_text(d, Style(false));
}

TEST(DiagnoseFamilies, ASoftmaxMayRunOverOtherDimensions) {
  Experiment e("softmax.int:f32:self=4x6x9,dim=2:data=normal:seed=3");
  const auto over = [&](std::int64_t i, auto is_of) {
    double total = 0;
    for (std::int64_t k = 0; k < 216; ++k)
      if (is_of(i, k)) total += std::exp(e.tensor(0).get(k));
    return std::exp(e.tensor(0).get(i)) / total;
  };
  e.fill([&](std::int64_t i) {
    return over(i, [](std::int64_t a, std::int64_t b) { return a / 54 == b / 54 && a % 9 == b % 9; });
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "dim.is_1");
  e.fill([&](std::int64_t i) {
    return over(i, [](std::int64_t a, std::int64_t b) { return a / 54 == b / 54; });
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "formula.over_two_dimensions");
  e.fill([&](std::int64_t i) { return over(i, [](std::int64_t, std::int64_t) { return true; }); });
  EXPECT_EQ(first_cause(e.diagnosis()), "formula.over_everything");
}

TEST(DiagnoseFamilies, AScaleOfWhatGoesInIsRecovered) {
  Experiment e("softmax.int:f32:self=8x30,dim=1:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double total = 0;
    for (std::int64_t k = 0; k < 30; ++k) total += std::exp(0.18 * e.tensor(0).get(i / 30 * 30 + k));
    return std::exp(0.18 * e.tensor(0).get(i)) / total;
  });
  const Diagnosis d = e.diagnosis();
  ASSERT_EQ(d.kind, Diagnosis::Kind::recovered) << to_text(d, Style(false));
  EXPECT_THAT(summary(d), HasSubstr("0.18 times that given"));
}

TEST(DiagnoseFamilies, WhatIsALineWhereItDivergesIsSaidSo) {
  Experiment e("relu:f32:self=20x20:data=normal:seed=3");
  e.fill([&](std::int64_t i) { return e.tensor(0).get(i) * (e.tensor(0).get(i) > 0 ? 1 : 0.03); });
  EXPECT_THAT(summary(e.diagnosis()), HasSubstr("0.03 times self, where it diverges"));
}

TEST(DiagnoseFamilies, AConvolutionMayPadWithTheImage) {
  Experiment e(
      "convolution:f32:input=2x3x6x7,weight=4x3x3x3,bias=none,stride=[1,1],padding=[1,1],dilation=[1,1],transposed=false,"
      "output_padding=[0,0],groups=1:data=normal:seed=3");
  const auto filled = [&](auto into) {
    e.fill([&](std::int64_t i) {
      const std::int64_t n = i / 168, o = i / 42 % 4, y = i / 7 % 6, x = i % 7;
      double sum = 0;
      for (std::int64_t c = 0; c < 3; ++c)
        for (std::int64_t r = 0; r < 9; ++r) {
          const std::int64_t at_y = into(y + r / 3 - 1, 6), at_x = into(x + r % 3 - 1, 7);
          sum += e.tensor(0).get(((n * 3 + c) * 6 + at_y) * 7 + at_x) * e.tensor(1).get((o * 3 + c) * 9 + r);
        }
      return sum;
    });
    return first_cause(e.diagnosis());
  };
  using Int = std::int64_t;
  EXPECT_EQ(filled([](Int at, Int n) { return at < 0    ? -at
                                              : at >= n ? 2 * n - 2 - at
                                                        : at; }),
            "formula.padded_by_reflection");
  EXPECT_EQ(filled([](Int at, Int n) { return std::clamp<Int>(at, 0, n - 1); }),
            "formula.padded_by_the_edge");
  EXPECT_EQ(filled([](Int at, Int n) { return (at + n) % n; }), "formula.padded_by_wrapping");
}

// Rows with means of 1,449 and a spread of 0.5: as a kernel of one pass has them, with its negative variances taken as 0.
TEST(DiagnoseFamilies, AVarianceInOnePassIsNamed) {
  Experiment e(
      "native_layer_norm:f32:input=6x16,normalized_shape=[16],weight=none,bias=none,eps=1e-05:data=normal:seed=3");
  auto& x = std::get<TensorData>(e.call.arguments[0]);
  for (std::int64_t i = 0; i < 96; ++i) x.set(i, 0.5 * x.get(i) + 290 * static_cast<double>(i / 16));
  e.fill([&](std::int64_t i) {
    float sum = 0, squares = 0;
    for (std::int64_t k = 0; k < 16; ++k) {
      const auto each = static_cast<float>(x.get(i / 16 * 16 + k));
      sum += each;
      squares += each * each;
    }
    const float mean = sum / 16, variance = std::max(squares / 16 - mean * mean, 0.0f);
    return (static_cast<float>(x.get(i)) - mean) / std::sqrt(variance + 1e-5f);
  });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed(), std::nullopt, std::nullopt});
  const Diagnosis d = diagnose(evidence, {});
  EXPECT_EQ(first_cause(d), "arithmetic.one_pass_moments") << to_text(d, Style(false));
}

}  // namespace
}  // namespace assay::diagnose
