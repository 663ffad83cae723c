// `assay diagnose`: faults of the border, of one tile, of some rows of a table, and of terms that stand apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "diagnose_experiment.h"
#include "harness/diagnose/gathered.h"
#include "harness/diagnose/outside.h"
#include "harness/diagnose/turned.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<double> right_results(Experiment& e) {
  Expectation expectation(e.call);
  const auto values = expectation.values(0);
  return {values.begin(), values.end()};
}

// The first cause, if it explains everything.
std::string found(const Diagnosis& d) {
  return d.causes.empty() || !d.causes[0].explains_all ? std::string() : d.causes[0].name;
}

// ---- The border ----------------------------------------------------------------------------------------------

constexpr const char* kConvolved =
    "convolution:f32:input=1x3x7x9,weight=4x3x3x3,bias=4,stride=[1,1],padding=[1,1],dilation=[1,1],"
    "transposed=false,output_padding=[0,0],groups=1:data=normal:seed=3";

bool is_on_border(std::int64_t i) {
  const std::int64_t y = i / 9 % 7, x = i % 9;
  return y == 0 || y == 6 || x == 0 || x == 8;
}

TEST(DiagnoseBorder, AFaultOfTheBorderAlone) {
  Experiment e(kConvolved);
  const std::vector<double> right = right_results(e);
  e.fill([&](std::int64_t i) {
    return right[static_cast<std::size_t>(i)] - (is_on_border(i) ? e.tensor(2).get(i / 63) : 0);
  });
  const Diagnosis d = e.diagnosis();
  ASSERT_EQ(first_cause(d), "bias.dropped_in_part") << to_text(d, Style(false));
  EXPECT_THAT(d.causes[0].says, HasSubstr("where dimension 2 or 3 is at its first or last index"));
}

TEST(DiagnoseBorder, MustBeExplainedWhole) {
  Experiment e(kConvolved);
  const std::vector<double> right = right_results(e);
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  e.fill([&](std::int64_t i) {
    return right[static_cast<std::size_t>(i)] + (is_on_border(i) ? noise(random) : 0);
  });
  EXPECT_EQ(found(e.diagnosis()), "");
}

// What a convolution gives with `number` outside of its image.
Experiment padded_with(const std::function<double(std::int64_t channel)>& number) {
  Experiment e(kConvolved);
  const std::vector<double> right = right_results(e);
  e.fill([&](std::int64_t i) {
    double sum = right[static_cast<std::size_t>(i)];
    const std::int64_t out = i / 63, y = i / 9 % 7, x = i % 9;
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t k = 0; k < 9; ++k) {
        const std::int64_t row = y + k / 3 - 1, column = x + k % 3 - 1;
        if (row < 0 || row >= 7 || column < 0 || column >= 9)
          sum += number(c) * e.tensor(1).get((out * 3 + c) * 9 + k);
      }
    return sum;
  });
  return e;
}

TEST(DiagnoseBorder, AnotherNumberOutsideOfTheImage) {
  for (const double number : {1.0, -128.0, 0.25}) {
    const Diagnosis d = padded_with([number](std::int64_t) { return number; }).diagnosis();
    ASSERT_EQ(first_cause(d), "input.padded_with_another_number") << to_text(d, Style(false));
    EXPECT_TRUE(d.causes[0].proven);
    EXPECT_THAT(d.causes[0].says, HasSubstr(fmt::format("pads with {} in place of 0", number)));
  }
}

TEST(DiagnoseBorder, NumbersThatDifferFromChannelToChannelAreNotOne) {
  Experiment e = padded_with([](std::int64_t channel) { return static_cast<double>(channel - 1); });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(outside_of(evidence), IsEmpty());
  Experiment other("relu:f32:self=40:data=normal:seed=3");
  other.fill([&](std::int64_t i) { return other.tensor(0).get(i); });
  Evidence of_relu(other.call, parse_contract("", Dtype::f32), {other.result.packed()});
  EXPECT_THAT(outside_of(of_relu), IsEmpty());
}

// ---- A tile --------------------------------------------------------------------------------------------------

TEST(DiagnoseTurned, OneTileWithItsRowsAsColumns) {
  Experiment e("mm:f32:self=24x6,mat2=6x40:data=normal:seed=3");
  const std::vector<double> right = right_results(e);
  e.fill([&](std::int64_t i) {
    const std::int64_t row = i / 40, column = i % 40;
    const bool is_inside = row >= 8 && row < 16 && column >= 24 && column < 32;
    return right[static_cast<std::size_t>(is_inside ? (column - 24 + 8) * 40 + (row - 8 + 24) : i)];
  });
  const Diagnosis d = e.diagnosis();
  ASSERT_EQ(first_cause(d), "results.tile_transposed_in_dimensions_0_and_1") << to_text(d, Style(false));
  EXPECT_THAT(d.causes[0].says, HasSubstr("whose dimension 0 is 8 to 15 and whose dimension 1 is 24 to 31"));
  e.result.set(9 * 40 + 30, 7);  // one that is not as it would stand there
  EXPECT_EQ(found(e.diagnosis()), "");
}

TEST(DiagnoseTurned, IsNothingOfAnOblong) {
  Experiment e("mm:f32:self=24x6,mat2=6x40:data=normal:seed=3");
  const std::vector<double> right = right_results(e);
  e.fill([&](std::int64_t i) {
    const bool is_inside = i / 40 >= 8 && i / 40 < 16 && i % 40 >= 20;
    return right[static_cast<std::size_t>(i)] + (is_inside ? 1 : 0);
  });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(turned_of(evidence), IsEmpty());
}

// ---- Rows of a table -----------------------------------------------------------------------------------------

std::string zeros_where(const std::function<bool(std::int64_t row)>& is_zero) {
  Experiment e("embedding:f32:weight=40x5,indices=9x8:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const auto row = static_cast<std::int64_t>(e.tensor(1).get(i / 5));
    return is_zero(row) ? 0 : e.tensor(0).get(row * 5 + i % 5);
  });
  const Diagnosis d = e.diagnosis();
  return d.causes.empty() || !d.causes[0].proven ? std::string() : d.causes[0].says;
}

TEST(DiagnoseGathered, RowsOfTheTableAsZeros) {
  EXPECT_THAT(zeros_where([](std::int64_t row) { return row >= 24; }),
              HasSubstr("gives zeros for indices from 2"));
  EXPECT_THAT(zeros_where([](std::int64_t row) { return row % 7 == 3; }),
              HasSubstr("of the indices, from 3 to"));
}

TEST(DiagnoseGathered, ZerosForAnIndexThatIsRightElsewhereAreNone) {
  Experiment e("embedding:f32:weight=4x5,indices=9x8:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    return i / 5 % 2 == 0 ? 0
                          : e.tensor(0).get(static_cast<std::int64_t>(e.tensor(1).get(i / 5)) * 5 + i % 5);
  });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(gathered_of(evidence), IsEmpty());
}

// ---- Terms that stand apart ----------------------------------------------------------------------------------

std::string mean_of(std::int64_t step, std::int64_t first, bool as_if_all) {
  Experiment e("mean.dim:f32:self=12x50,dim=[1],keepdim=false:data=normal:seed=3");
  e.fill([&](std::int64_t row) {
    double sum = 0;
    int count = 0;
    for (std::int64_t k = first; k < 50; k += step, ++count) sum += e.tensor(0).get(row * 50 + k);
    return sum / (as_if_all ? count : 50);
  });
  const Diagnosis d = e.diagnosis();
  return d.causes.empty() || !d.causes[0].proven ? std::string() : d.causes[0].says;
}

TEST(DiagnoseTerms, EveryThirdAlone) {
  EXPECT_THAT(mean_of(3, 1, true),
              HasSubstr("counts every third index of dimension 1 of self alone, beginning with 1, as if"));
  EXPECT_THAT(mean_of(2, 0, false),
              HasSubstr("counts every second index of dimension 1 of self alone, beginning with 0"));
}

}  // namespace
}  // namespace assay::diagnose
