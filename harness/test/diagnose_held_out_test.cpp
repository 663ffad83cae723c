// `assay diagnose`: faults as people met them, which nobody had listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "diagnose_experiment.h"
#include "harness/diagnose/gathered.h"
#include "harness/diagnose/groups.h"
#include "harness/diagnose/in_part.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

double right(Experiment& e, std::int64_t i) {
  Expectation expectation(e.call);
  return expectation.values(0)[static_cast<std::size_t>(i)];
}

std::int64_t at(const std::vector<std::int64_t>& all, std::int64_t i) { return all[static_cast<std::size_t>(i)]; }

// ---- In a part of the results --------------------------------------------------------------------------------

// Rows of results, of which those from `first` on lack the bias.
Experiment without_bias_from(std::int64_t first) {
  Experiment e("linear:f32:input=70x8,weight=9x8,bias=9:data=normal:seed=3");
  Expectation expectation(e.call);
  const std::vector<double>& values = expectation.values(0);
  e.fill([&](std::int64_t i) {
    return values[static_cast<std::size_t>(i)] - (i / 9 >= first ? e.tensor(2).get(i % 9) : 0);
  });
  return e;
}

TEST(DiagnoseInPart, AFaultOfTheLastRowsAlone) {
  const Diagnosis d = without_bias_from(64).diagnosis();
  ASSERT_EQ(first_cause(d), "bias.dropped_in_part");
  EXPECT_TRUE(d.causes[0].proven);
  EXPECT_THAT(d.causes[0].says, HasSubstr("where dimension 0 is 64 or more"));
  EXPECT_EQ(first_cause(without_bias_from(0).diagnosis()), "bias.dropped");
}

// One element that is right in the part, or noise there: no fault fits all of it.
TEST(DiagnoseInPart, MustExplainAllOfThePart) {
  Experiment e = without_bias_from(64);
  const double as_it_should_be = right(e, 67 * 9 + 4);
  e.result.set(67 * 9 + 4, as_it_should_be);
  EXPECT_THAT(first_cause(e.diagnosis()), Not(HasSubstr("in_part")));
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  for (std::int64_t i = 64 * 9; i < 70 * 9; ++i) e.result.set(i, noise(random));
  EXPECT_THAT(first_cause(e.diagnosis()), Not(HasSubstr("in_part")));
}

TEST(DiagnoseInPart, AStretchInRowMajorOrder) {
  Experiment e("relu:f32:self=40x50:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const double x = e.tensor(0).get(i);
    return i >= 1037 ? std::fabs(x) : std::max(x, 0.0);
  });
  const Diagnosis d = e.diagnosis();
  ASSERT_EQ(first_cause(d), "self.sign_lost_in_part");
  EXPECT_THAT(d.causes[0].says, HasSubstr("the row-major number of a result is 10"));
}

TEST(DiagnoseInPart, IsNothingWhereTheWholeDiverges) {
  Experiment e("relu:f32:self=4x5:data=normal:seed=3");
  e.fill([&](std::int64_t i) { return e.tensor(0).get(i) + 1; });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  const Variant fault{.name = "self.negated", .says = "takes self with the opposite sign"};
  const Variant* const faults[] = {&fault};
  EXPECT_THAT(in_part_of(evidence, faults), IsEmpty());
}

// ---- Indices -------------------------------------------------------------------------------------------------

std::string gathered_by(const std::function<std::int64_t(std::int64_t)>& row) {
  Experiment e("embedding:f32:weight=40x5,indices=9x8:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    return e.tensor(0).get(row(static_cast<std::int64_t>(e.tensor(1).get(i / 5))) * 5 + i % 5);
  });
  const Diagnosis d = e.diagnosis();
  return d.causes.empty() || !d.causes[0].proven ? std::string() : d.causes[0].name;
}

TEST(DiagnoseGathered, WhatWasMadeOfIndices) {
  EXPECT_EQ(gathered_by([](std::int64_t i) { return std::min<std::int64_t>(i, 29); }), "indices.at_most_29");
  EXPECT_EQ(gathered_by([](std::int64_t i) { return std::max<std::int64_t>(i, 7); }), "indices.at_least_7");
  EXPECT_EQ(gathered_by([](std::int64_t i) { return (i + 5) % 40; }), "indices.rotated_by_5");
  EXPECT_EQ(gathered_by([](std::int64_t i) { return i % 16; }), "indices.modulo_16");
  EXPECT_EQ(gathered_by([](std::int64_t i) { return i ^ 5; }), "indices.others");
  EXPECT_EQ(gathered_by([](std::int64_t i) { return (i + 1) % 40; }), "formula.next_row");
}

TEST(DiagnoseGathered, NumbersThatAreNoRowOfTheTableAreNothing) {
  Experiment e("embedding:f32:weight=40x5,indices=9x8:data=normal:seed=3");
  std::mt19937 random(1);
  std::normal_distribution<double> number;
  e.fill([&](std::int64_t) { return number(random); });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(gathered_of(evidence), IsEmpty());
}

// ---- Arguments -----------------------------------------------------------------------------------------------

TEST(DiagnoseHeldOut, BroadcastsAlongAnotherDimension) {
  Experiment e("add.Tensor:f32:self=7x7,other=7:data=normal:seed=3");
  e.fill([&](std::int64_t i) { return e.tensor(0).get(i) + e.tensor(1).get(i / 7); });
  EXPECT_EQ(first_cause(e.diagnosis()), "other.each_repeated");
  Experiment m("mul.Tensor:f32:self=5x6,other=5x1:data=normal:seed=3");
  m.fill([&](std::int64_t i) { return m.tensor(0).get(i) * m.tensor(1).get(i % 5); });
  EXPECT_EQ(first_cause(m.diagnosis()), "other.cycled");
}

TEST(DiagnoseHeldOut, SquareMatricesThatAreTakenForOneAnother) {
  Experiment e("mm:f32:self=9x9,mat2=9x9:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 9; ++k) sum += e.tensor(1).get(i / 9 * 9 + k) * e.tensor(0).get(k * 9 + i % 9);
    return sum;
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "self.exchanged_with_mat2");
}

// What is left out may be taken for a number.
TEST(DiagnoseHeldOut, AnOptionalNumberThatWasLeftOut) {
  Experiment e("var.correction:f32:self=30x6,dim=[1],correction=none:data=normal:seed=3");
  Expectation expectation(e.call);
  e.fill([&](std::int64_t i) { return expectation.values(0)[static_cast<std::size_t>(i)] * 5 / 6; });
  EXPECT_EQ(first_cause(e.diagnosis()), "correction.zero");
  Experiment p("avg_pool2d:f32:self=1x3x9x9,kernel_size=[3,3],stride=[2,2],padding=[1,1]:data=normal:seed=3");
  Expectation mean(p.call);
  p.fill([&](std::int64_t i) { return mean.values(0)[static_cast<std::size_t>(i)] * 9; });
  EXPECT_EQ(first_cause(p.diagnosis()), "divisor_override.one");
}

// Without padding, windows that begin one element late begin within the image.
TEST(DiagnoseHeldOut, WindowsThatBeginLate) {
  Experiment e("max_pool2d:f32:self=1x3x11x11,kernel_size=[3,3],stride=[2,2]:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const std::int64_t plane = i / 25 * 121, y = i / 5 % 5 * 2 + 1, x = i % 5 * 2 + 1;
    double most = -HUGE_VAL;
    for (std::int64_t r = y; r < std::min<std::int64_t>(y + 3, 11); ++r)
      for (std::int64_t c = x; c < std::min<std::int64_t>(x + 3, 11); ++c)
        most = std::max(most, e.tensor(0).get(plane + r * 11 + c));
    return most;
  });
  EXPECT_EQ(first_cause(e.diagnosis()), "padding.one_less_before");
}

// ---- Numbers -------------------------------------------------------------------------------------------------

TEST(DiagnoseHeldOut, AFactorThatPeopleKnowIsNamed) {
  Experiment e("log_softmax.int:f32:self=8x10,dim=1:data=normal:seed=3");
  Expectation expectation(e.call);
  e.fill([&](std::int64_t i) { return expectation.values(0)[static_cast<std::size_t>(i)] / std::log(2.0); });
  const Diagnosis d = e.diagnosis();
  ASSERT_EQ(d.kind, Diagnosis::Kind::recovered);
  EXPECT_THAT(d.inverted[0].says, HasSubstr("logarithm to base 2"));
}

// Softmax shrinks and grows with what its inputs are multiplied with: the element that diverges most may say two numbers.
TEST(DiagnoseHeldOut, AFactorOfLogitsWhateverElementIsAskedFirst) {
  for (const double factor : {0.7, 0.31, 1.6}) {
    Experiment e("softmax.int:f32:self=6x10,dim=1:data=normal:seed=5");
    e.fill([&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t k = 0; k < 10; ++k) sum += std::exp(factor * e.tensor(0).get(i / 10 * 10 + k));
      return std::exp(factor * e.tensor(0).get(i)) / sum;
    });
    const Diagnosis d = e.diagnosis();
    ASSERT_EQ(d.kind, Diagnosis::Kind::recovered) << factor;
    EXPECT_NEAR(d.inverted[0].values[0], factor, 1e-4);
  }
}

// A gradient through softmax hardly depends on what is added to all of a row: no fault is a huge number there.
TEST(DiagnoseHeldOut, NumbersThatResultsHardlyDependOnAreNoZeroPoints) {
  Experiment e("_softmax_backward_data:f32:grad_output=6x10,output=6x10,dim=1,input_dtype=f32:data=normal:seed=3");
  auto& output = std::get<TensorData>(e.call.arguments[1]);
  for (std::int64_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (std::int64_t k = 0; k < 10; ++k) sum += std::exp(output.get(row * 10 + k));
    for (std::int64_t k = 0; k < 10; ++k) output.set(row * 10 + k, std::exp(output.get(row * 10 + k)) / sum);
  }
  e.fill([&](std::int64_t i) { return e.tensor(0).get(i) * e.tensor(1).get(i); });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(groups_of(evidence), IsEmpty());
  EXPECT_EQ(first_cause(e.diagnosis()), "formula.without_the_sum");
}

// After the greatest number of a dtype comes its least.
TEST(DiagnoseHeldOut, IntegersThatAreTooHighByOneWrap) {
  for (const char* text : {"mm:i8:self=30x20,mat2=20x30:data=normal:seed=3", "mm:u8:self=30x20,mat2=20x30:data=normal:seed=3",
                           "relu:i8:self=40x40:data=wide:seed=3"}) {
    Experiment e(text);
    Expectation expectation(e.call);
    ASSERT_NE(expectation.integers(0), nullptr);
    const std::vector<std::int64_t>& values = *expectation.integers(0);
    for (std::int64_t i = 0; i < e.result.numel(); ++i)
      store_integer(e.result.element(i), e.result.dtype, at(values, i) + (at(values, i) & 1));
    EXPECT_EQ(first_cause(e.diagnosis()), "results.one_too_high") << text;
  }
}

TEST(DiagnoseHeldOut, HalfTheBitsOfUnsignedIntegersAreWithoutASign) {
  Experiment e("mm:u8:self=30x20,mat2=20x30:data=normal:seed=3");
  Expectation expectation(e.call);
  const std::vector<std::int64_t>& values = *expectation.integers(0);
  for (std::int64_t i = 0; i < e.result.numel(); ++i) {
    const std::int64_t low = at(values, i) & 15;
    store_integer(e.result.element(i), e.result.dtype, low < 8 ? low : low - 16);
  }
  EXPECT_EQ(first_cause(e.diagnosis()), "results.in_half_the_bits");
}

// PyTorch 1.13 has gelu with an erf that keeps to an absolute error: below zero, where 1 + erf cancels, it is off by many ulp.
TEST(DiagnoseHeldOut, AFunctionWithAnAbsoluteErrorIsNamed) {
  Experiment e("gelu:f32:self=30x40,approximate=none:data=normal:seed=3");
  std::mt19937 random(1);
  std::uniform_real_distribution<double> error(-7e-7, 7e-7);
  e.fill([&](std::int64_t i) {
    const double x = e.tensor(0).get(i);
    return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5)) + error(random));
  });
  const Diagnosis d = e.diagnosis();
  ASSERT_TRUE(d.admitting);
  EXPECT_EQ(d.admitting->clause, "erf=9.53674e-07abs");
  EXPECT_TRUE(d.admitting->likely);
}

}  // namespace
}  // namespace assay::diagnose
