// `assay diagnose`: tiles of matrix products and convolutions that are stale, lost, or wrong in a block of results alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "diagnose_experiment.h"
#include "harness/diagnose/tiles.h"

namespace assay::diagnose {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kTiledProduct = "mm:f32:self=24x150,mat2=150x19:data=normal:seed=5";
constexpr std::int64_t kTiledDepth = 150, kTiledColumns = 19;

// Term k of result (row, column): the numbers that a kernel multiplies.
struct TermOf {
  const Experiment& e;
  double first(std::int64_t row, std::int64_t k) const { return e.tensor(0).get(row * kTiledDepth + k); }
  double second(std::int64_t k, std::int64_t column) const {
    return e.tensor(1).get(k * kTiledColumns + column);
  }
};

using TermFunction =
    std::function<double(const TermOf&, std::int64_t row, std::int64_t column, std::int64_t k)>;

Diagnosis of_terms(const TermFunction& term) {
  Experiment e(kTiledProduct);
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < kTiledDepth; ++k) sum += term({e}, i / kTiledColumns, i % kTiledColumns, k);
    return sum;
  });
  return e.diagnosis();
}

double plain(const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
  return t.first(row, k) * t.second(k, column);
}

TEST(DiagnoseTiles, OfOneOperandThatIsOfTheStepBefore) {
  Diagnosis d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return t.first(row, k / 30 == 3 ? k - 30 : k) * t.second(k, column);
  });
  EXPECT_EQ(first_cause(d), "self.90_to_119_of_dimension_1_alone_of_30_before") << to_text(d, Style(false));
  EXPECT_TRUE(d.causes[0].proven);
  EXPECT_THAT(summary(d), HasSubstr("a tile of self alone is stale"));
  // What is left for the last tile, and one that was loaded too early.
  d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return t.first(row, k) * t.second(k >= 128 ? k - 64 : k, column);
  });
  EXPECT_EQ(first_cause(d), "mat2.128_to_149_of_dimension_0_alone_of_64_before") << to_text(d, Style(false));
  d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return t.first(row, k / 16 == 2 ? k + 16 : k) * t.second(k, column);
  });
  EXPECT_EQ(first_cause(d), "self.32_to_47_of_dimension_1_alone_of_16_further_on")
      << to_text(d, Style(false));
}

TEST(DiagnoseTiles, InABlockOfResultsAlone) {
  Diagnosis d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return row / 8 == 1 && column >= 16 && k / 16 == 3 ? 0 : plain(t, row, column, k);
  });
  EXPECT_EQ(first_cause(d), "self.48_to_63_of_dimension_1_left_out_in_a_block") << to_text(d, Style(false));
  EXPECT_THAT(summary(d), HasSubstr("whose dimension 0 is 8 to 15 and whose dimension 1 is 16 to 18"));
  EXPECT_TRUE(d.causes[0].proven);
  d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return t.first(row, row >= 16 && k >= 100 ? k - 50 : k) * t.second(k, column);
  });
  EXPECT_EQ(first_cause(d), "self.100_to_149_of_dimension_1_alone_of_50_before_in_a_block")
      << to_text(d, Style(false));
  // Every second band of rows is no block.
  d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return plain(t, row, column, k) * (row / 4 % 2 == 1 && k < 20 ? 2 : 1);
  });
  EXPECT_EQ(first_cause(d), "self.0_to_19_of_dimension_1_twice_where_it_diverges")
      << to_text(d, Style(false));
}

TEST(DiagnoseTiles, TwoAtOnce) {
  Diagnosis d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return k / 16 == 2 || k / 16 == 7 ? 0 : plain(t, row, column, k);
  });
  EXPECT_EQ(first_cause(d), "self.32_to_47_and_112_to_127_of_dimension_1_left_out")
      << to_text(d, Style(false));
  d = of_terms([](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
    return (k >= 5 && k < 9) || (k >= 40 && k < 71) ? 0 : plain(t, row, column, k);
  });
  EXPECT_EQ(first_cause(d), "self.5_to_8_and_40_to_70_of_dimension_1_left_out") << to_text(d, Style(false));
}

TEST(DiagnoseTiles, OneZeroPointForTheWholeWeight) {
  for (const double off : {0.0371, -0.5}) {
    const Diagnosis d =
        of_terms([off](const TermOf& t, std::int64_t row, std::int64_t column, std::int64_t k) {
          return t.first(row, k) * (t.second(k, column) + off);
        });
    EXPECT_EQ(first_cause(d), "mat2.with_an_offset") << to_text(d, Style(false));
    EXPECT_THAT(summary(d), HasSubstr(off > 0 ? "0.0371 too large" : "0.5 too small"));
  }
}

TEST(DiagnoseTiles, AZeroPointForEachRow) {
  Experiment e("linear:f32:input=24x64,weight=20x64,bias=none:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 64; ++k)
      sum += e.tensor(0).get(i / 20 * 64 + k) *
             (e.tensor(1).get(i % 20 * 64 + k) + 0.01 * static_cast<double>(i % 20));
    return sum;
  });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(d.kind, Diagnosis::Kind::recovered);
  EXPECT_THAT(summary(d), HasSubstr("weight: for each index of dimension 0, a number is added"))
      << to_text(d, Style(false));
}

// Channels are the steps of a convolution; each has the products of its window.
TEST(DiagnoseTiles, OfAConvolution) {
  Experiment e(
      "convolution:f32:input=2x12x7x7,weight=6x12x3x3,bias=none,stride=[2,2],padding=[1,1],dilation=[1,1],"
      "transposed=false,output_padding=[0,0],groups=1:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t c = 0; c < 12; ++c)
      for (std::int64_t r = 0; r < 9; ++r) {
        const std::int64_t y = i / 4 % 4 * 2 - 1 + r / 3, x = i % 4 * 2 - 1 + r % 3;
        if (y < 0 || x < 0 || y > 6 || x > 6) continue;
        const std::int64_t from = c / 4 == 2 ? c - 4 : c;
        sum += e.tensor(0).get(((i / 96 * 12 + c) * 7 + y) * 7 + x) *
               e.tensor(1).get((i / 16 % 6 * 12 + from) * 9 + r);
      }
    return sum;
  });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(first_cause(d), "weight.8_to_11_of_dimension_1_alone_of_4_before") << to_text(d, Style(false));
}

// Errors, other numbers, and small integers of which many ranges give the same.
TEST(DiagnoseTiles, WhatIsNoTileIsNone) {
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, 1);
  for (const char* text : {kTiledProduct, "mm:f32:self=24x64,mat2=64x19:data=trits:seed=5"}) {
    Experiment e(text);
    Expectation right(e.call);
    const std::int64_t columns = e.call.outputs[0].shape[1];
    for (const bool whole : {false, true}) {
      e.fill([&](std::int64_t i) {
        const bool there = whole || (i / columns >= 8 && i / columns < 16);
        const double more = text == kTiledProduct ? error(random) : static_cast<double>(random() % 5) - 2;
        return right.values(0)[static_cast<std::size_t>(i)] + (there ? more : 0);
      });
      Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
      EXPECT_THAT(tiles_of(evidence), IsEmpty()) << text;
    }
  }
}

}  // namespace
}  // namespace assay::diagnose
