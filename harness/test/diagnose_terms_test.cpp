// `assay diagnose`: faults of any size and place that are read off what results lack, and results that are right by another
// definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "diagnose_experiment.h"
#include "harness/diagnose/groups.h"
#include "harness/diagnose/terms.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Products of which term k counts `times(k)` times.
template <class Times>
Experiment& fill_with_terms(Experiment& e, std::int64_t n, std::int64_t depth, const Times& times) {
  return e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += times(k) * e.tensor(0).get(i / n * depth + k) * e.tensor(1).get(k * n + i % n);
    return sum;
  });
}

TEST(DiagnoseTerms, ATileOfAnySizeAndPlaceThatIsLeftOutOrCountedTwice) {
  Experiment e("mm:f32:self=12x150,mat2=150x9:data=normal:seed=3");
  fill_with_terms(e, 9, 150, [](std::int64_t k) { return k >= 37 && k < 60 ? 0 : 1; });
  EXPECT_EQ(first_cause(e.diagnosis()), "self.37_to_59_of_dimension_1_left_out");
  EXPECT_TRUE(e.diagnosis().causes[0].proven);
  fill_with_terms(e, 9, 150, [](std::int64_t k) { return k >= 64 && k < 96 ? 2 : 1; });
  EXPECT_EQ(first_cause(e.diagnosis()), "self.64_to_95_of_dimension_1_twice");
  fill_with_terms(e, 9, 150, [](std::int64_t k) {
    return k >= 32 && k < 64 ? 2 : k >= 64 && k < 96 ? 0 : 1;
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "self.64_to_95_of_dimension_1_of_the_tile_before");
}

// Input channels of a convolution are no innermost dimension.
TEST(DiagnoseTerms, AlongAnyDimension) {
  Experiment e(
      "convolution:f32:input=2x10x6x6,weight=5x10x1x1,bias=none,stride=[1,1],padding=[0,0],dilation=[1,1],"
      "transposed=false,output_padding=[0,0],groups=1:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t c = 0; c < 10; ++c)
      if (c < 4 || c > 6)
        sum += e.tensor(0).get((i / 180 * 10 + c) * 36 + i % 36) * e.tensor(1).get(i / 36 % 5 * 10 + c);
    return sum;
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "input.4_to_6_of_dimension_1_left_out");
}

// Terms that are lost in some rows alone, and noise.
TEST(DiagnoseTerms, WhatHoldsForSomeElementsIsNoCause) {
  Experiment e("mm:f32:self=12x150,mat2=150x9:data=normal:seed=3");
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, 1);
  Expectation right(e.call);
  e.fill([&](std::int64_t i) { return right.values(0)[static_cast<std::size_t>(i)] + error(random); });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(terms_of(evidence), IsEmpty());
  EXPECT_THAT(groups_of(evidence), IsEmpty());
}

TEST(DiagnoseTerms, ZeroPointsAndScalesOfGroups) {
  for (const bool scales : {false, true}) {
    Experiment e("linear:f32:input=24x64,weight=20x64,bias=20:data=normal:seed=3");
    std::mt19937 random(1);
    std::uniform_real_distribution<double> number(-0.5, 0.5);
    std::vector<double> off(20 * 4);
    for (std::size_t g = 0; g < off.size(); g += 3) off[g] = number(random);
    e.fill([&](std::int64_t i) {
      double sum = e.tensor(2).get(i % 20);
      for (std::int64_t k = 0; k < 64; ++k) {
        const double w = e.tensor(1).get(i % 20 * 64 + k),
                     o = off[static_cast<std::size_t>(i % 20 * 4 + k / 16)];
        sum += e.tensor(0).get(i / 20 * 64 + k) * (scales ? w * (1 + o) : w + o);
      }
      return sum;
    });
    const Diagnosis d = e.diagnosis();
    EXPECT_EQ(d.kind, Diagnosis::Kind::recovered) << to_text(d, Style(false));
    EXPECT_THAT(summary(d), HasSubstr("weight: in groups of 16 along dimension 1"));
    EXPECT_THAT(summary(d), HasSubstr(scales ? "another scale" : "another zero point"));
    ASSERT_EQ(d.inverted.size(), 1u);
    ASSERT_EQ(d.inverted[0].values.size(), off.size());
    for (std::size_t g = 0; g < off.size(); ++g)
      EXPECT_NEAR(d.inverted[0].values[g], off[g] + (scales ? 1 : 0), 1e-3);
  }
}

// Weights whose numbers are all others are no groups.
TEST(DiagnoseTerms, OtherWeightsAreNoGroups) {
  Experiment e("linear:f32:input=24x64,weight=20x64,bias=none:data=normal:seed=3");
  std::mt19937 random(1);
  std::normal_distribution<double> number(0, 1);
  std::vector<double> other(20 * 64);
  for (double& w : other) w = number(random);
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 64; ++k)
      sum += e.tensor(0).get(i / 20 * 64 + k) * other[static_cast<std::size_t>(i % 20 * 64 + k)];
    return sum;
  });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(groups_of(evidence), IsEmpty());
}

// Errors of a function are no numbers for groups, though each is hardly outside its bound.
TEST(DiagnoseTerms, ErrorsOfFunctionsAreNoGroups) {
  for (const char* text :
       {"gelu:f32:self=6x100,approximate=none:data=normal:seed=3",
        "softmax.int:f32:self=6x100,dim=1:data=normal:seed=3", "tanh:f32:self=6x100:data=normal:seed=3"}) {
    Experiment e(text);
    Expectation right(e.call);
    std::mt19937 random(1);
    std::uniform_real_distribution<double> error(-300, 300);
    e.fill([&](std::int64_t i) {
      return right.values(0)[static_cast<std::size_t>(i)] * (1 + error(random) * 0x1p-23);
    });
    Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
    ASSERT_GT(evidence.diverging(), 10u);
    EXPECT_THAT(groups_of(evidence), IsEmpty()) << text;
  }
}

// A few numbers are as some range of terms says by chance, and one number in place of another is what much gives.
TEST(DiagnoseTerms, FewNumbersProveNothing) {
  Experiment small("linear:f32:input=1x600,weight=4x600,bias=none:data=trits:seed=3");
  Expectation right(small.call);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    small.fill([&](std::int64_t i) {
      return right.values(0)[static_cast<std::size_t>(i)] + static_cast<double>(random() % 5) - 7;
    });
    Evidence evidence(small.call, parse_contract("", Dtype::f32), {small.result.packed()});
    EXPECT_THAT(terms_of(evidence), IsEmpty());
  }
  Experiment one("mm:f32:self=8x8,mat2=8x8:data=normal:seed=3");
  for (int t = 0; t < 2; ++t)
    for (std::int64_t i = 0; i < 64; ++i)
      std::get<TensorData>(one.call.arguments[static_cast<std::size_t>(t)]).set(i, 1);
  one.fill([&](std::int64_t) { return 7; });
  const Diagnosis d = one.diagnosis();
  EXPECT_NE(d.kind, Diagnosis::Kind::named) << to_text(d, Style(false));
  EXPECT_NE(d.kind, Diagnosis::Kind::recovered) << to_text(d, Style(false));
  EXPECT_TRUE(d.says_little);
}

// NaN is left out with the terms that it is in.
TEST(DiagnoseTerms, NumbersThatAreLeftOutMayBeNaN) {
  Experiment e("mm:f32:self=12x150,mat2=150x9:data=normal:seed=3");
  std::get<TensorData>(e.call.arguments[0]).set(3 * 150 + 40, std::nan(""));
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 150; ++k)
      if (k < 37 || k > 59) sum += e.tensor(0).get(i / 9 * 150 + k) * e.tensor(1).get(k * 9 + i % 9);
    return sum;
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "self.37_to_59_of_dimension_1_left_out");
}

// Whatever its number is, a result that is the same everywhere is no parameter's.
TEST(DiagnoseTerms, AConstantIsNotComputed) {
  Experiment e("relu:f32:self=40x25:data=normal:seed=3");
  for (const double number : {1.0, -3.5}) {
    e.fill([&](std::int64_t) { return number; });
    const Diagnosis d = e.diagnosis();
    EXPECT_EQ(first_cause(d), "results.constant") << to_text(d, Style(false));
  }
  // Where right results are one number, another one is a factor.
  Experiment one("relu:f32:self=[40x25]@expanded(0,1):data=uniform:seed=3");
  one.fill([&](std::int64_t) { return 7; });
  EXPECT_NE(first_cause(one.diagnosis()), "results.constant");
}

// A tile of columns that is computed one too far on.
TEST(DiagnoseTerms, WhatBelongsElsewhere) {
  Experiment e("mm:f32:self=12x20,mat2=20x24:data=normal:seed=3");
  Expectation right(e.call);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return right.values(0)[static_cast<std::size_t>(row * 24 + column)];
  };
  e.fill([&](std::int64_t i) { return at(i / 24, i % 24 >= 16 ? (i % 24 + 1) % 24 : i % 24); });
  EXPECT_EQ(first_cause(e.diagnosis()), "results.displaced_by_1_in_dimension_1");
  EXPECT_THAT(summary(e.diagnosis()), HasSubstr("and round its end"));
  e.fill([&](std::int64_t i) { return at(i / 24 < 4 ? i / 24 + 8 : i / 24, i % 24); });
  EXPECT_EQ(first_cause(e.diagnosis()), "results.displaced_by_8_in_dimension_0");
  // One of them is none.
  e.fill([&](std::int64_t i) { return i == 30 ? 1000 : at(i / 24 < 4 ? i / 24 + 8 : i / 24, i % 24); });
  EXPECT_THAT(first_cause(e.diagnosis()), ::testing::Not(HasSubstr("displaced")));
}

// F(2x2, 3x3) of one tile by its definition, transformed tensors rounded to f16.
double by_winograd(const Experiment& e, std::int64_t at, bool in_f16) {
  const double bt[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
  const double g[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  const double out[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
  const auto kept = [&](double x) { return in_f16 ? round_to(x, format(Dtype::f16)) : x; };
  const std::int64_t w = at % 12, h = at / 12 % 12, k = at / 144;
  double sum = 0;
  for (std::int64_t c = 0; c < 8; ++c)
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 4; ++j) {
        double u = 0, v = 0;
        for (std::int64_t r = 0; r < 3; ++r)
          for (std::int64_t s = 0; s < 3; ++s)
            u += g[i][r] * g[j][s] * e.tensor(1).get(((k * 8 + c) * 3 + r) * 3 + s);
        for (std::int64_t r = 0; r < 4; ++r)
          for (std::int64_t s = 0; s < 4; ++s) {
            const std::int64_t y = h / 2 * 2 - 1 + r, x = w / 2 * 2 - 1 + s;
            if (y >= 0 && x >= 0 && y < 12 && x < 12)
              v += bt[i][r] * bt[j][s] * e.tensor(0).get((c * 12 + y) * 12 + x);
          }
        sum += out[h % 2][i] * out[w % 2][j] * kept(u) * kept(v);
      }
  return sum;
}

TEST(DiagnoseTerms, ErrorsOfWinograd) {
  Experiment e(
      "convolution:f16:input=1x8x12x12,weight=4x8x3x3,bias=none,stride=[1,1],padding=[1,1],dilation=[1,1],"
      "transposed=false,output_padding=[0,0],groups=1:data=normal:seed=3");
  e.fill([&](std::int64_t i) { return by_winograd(e, i, true); });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(first_cause(d), "algorithm.winograd_f2_in_f16") << to_text(d, Style(false));
  ASSERT_TRUE(d.winograd);
  EXPECT_GT(d.winograd->correlation, 0.7);
  EXPECT_FALSE(d.causes[0].proven);
  EXPECT_THAT(to_json({d}), HasSubstr("\"correlation\""));
  // Errors of the same size that are nobody's.
  Expectation right(e.call);
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, 0.01);
  e.fill([&](std::int64_t i) { return right.values(0)[static_cast<std::size_t>(i)] + error(random); });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_FALSE(winograd_of(evidence));
}

TEST(DiagnoseTerms, FunctionsThatAreFused) {
  Experiment e("linear:f32:input=24x32,weight=20x32,bias=20:data=normal:seed=3");
  Expectation right(e.call);
  const auto x = [&](std::int64_t i) {
    return static_cast<float>(right.values(0)[static_cast<std::size_t>(i)]);
  };
  e.fill([&](std::int64_t i) { return x(i) / (1 + std::exp(-x(i))); });
  EXPECT_EQ(first_cause(e.diagnosis()), "results.then_silu");
  e.fill([&](std::int64_t i) { return 0.5f * x(i) * (1 + std::erf(x(i) * 0.70710678f)); });
  EXPECT_EQ(first_cause(e.diagnosis()), "results.then_gelu");
  e.fill([&](std::int64_t i) { return std::tanh(x(i)); });
  EXPECT_EQ(first_cause(e.diagnosis()), "results.then_tanh");
}

TEST(DiagnoseTerms, AnotherDefinitionIsNobodysFault) {
  Experiment e("hardswish:f32:self=40x25:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const auto x = static_cast<float>(e.tensor(0).get(i));
    return x * std::clamp(0.2f * x + 0.5f, 0.0f, 1.0f);
  });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(first_cause(d), "formula.by_a_fifth") << to_text(d, Style(false));
  const std::string text = to_text(d, Style(false));
  EXPECT_THAT(text, HasSubstr("Another definition"));
  EXPECT_THAT(text, HasSubstr("Keras 2"));
  EXPECT_THAT(to_json({d}), HasSubstr("\"definition\": \"x HardSigmoid(x)"));
  // Wrong by any definition.
  e.fill([&](std::int64_t i) { return 2 * e.tensor(0).get(i); });
  EXPECT_TRUE(d.fault);
  EXPECT_THAT(to_text(e.diagnosis(), Style(false)), ::testing::Not(HasSubstr("Another definition")));
}

}  // namespace
}  // namespace assay::diagnose
