// `assay diagnose`: rows that are read from other places than they lie in, or stored there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "diagnose_experiment.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;

// Element `at` of a tensor in row-major order, and zeros beyond its end.
double at(const Experiment& e, int argument, std::int64_t place) {
  const TensorData& t = e.tensor(argument);
  return place < t.numel() ? t.get(place) : 0;
}

// A product of 24 x 30 and 30 x 40 whose second factor is read so.
Diagnosis of_product(const std::function<std::int64_t(std::int64_t row, std::int64_t column)>& second) {
  Experiment e("mm:f32:self=24x30,mat2=30x40:data=normal:seed=7");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 30; ++k) sum += at(e, 0, i / 40 * 30 + k) * at(e, 1, second(k, i % 40));
    return sum;
  });
  return e.diagnosis();
}

void expect_cause(const Diagnosis& d, const std::string& name, const std::string& says) {
  ASSERT_FALSE(d.causes.empty()) << name;
  EXPECT_EQ(d.causes[0].name, name);
  EXPECT_TRUE(d.causes[0].proven) << name;
  EXPECT_THAT(to_text(d, Style(false)), HasSubstr(says));
}

TEST(DiagnoseMisread, RowsAtAnotherPitch) {
  for (const std::int64_t pitch : {64, 39, 30, 53})
    expect_cause(of_product([pitch](std::int64_t row, std::int64_t column) { return row * pitch + column; }),
                 "mat2.pitch_" + std::to_string(pitch),
                 "takes the rows of mat2 to lie " + std::to_string(pitch) + " elements apart, where 40 are");
}

TEST(DiagnoseMisread, OneRowForSeveral) {
  expect_cause(of_product([](std::int64_t row, std::int64_t column) { return row / 2 * 40 + column; }),
               "mat2.one_for_2_in_dimension_0", "reads index i / 2 of dimension 0 of mat2 for index i");
  expect_cause(of_product([](std::int64_t row, std::int64_t column) { return row % 8 * 40 + column; }),
               "mat2.first_8_again_in_dimension_0", "reads index i % 8 of dimension 0 of mat2 for index i");
}

// Heads that share keys are counted so; here each has its own.
TEST(DiagnoseMisread, BatchesThatAreShared) {
  Experiment e("bmm:f32:self=8x5x6,mat2=8x6x7:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const std::int64_t batch = i / 35, row = i / 7 % 5, column = i % 7;
    double sum = 0;
    for (std::int64_t k = 0; k < 6; ++k)
      sum += at(e, 0, (batch * 5 + row) * 6 + k) * at(e, 1, (batch / 4 * 6 + k) * 7 + column);
    return sum;
  });
  expect_cause(e.diagnosis(), "mat2.one_for_4_in_dimension_0", "reads index i / 4 of dimension 0");
}

TEST(DiagnoseMisread, RowsStoredAtAnotherPitch) {
  for (const std::int64_t pitch : {32, 29}) {
    Experiment e("tanh:f32:self=20x30:data=normal:seed=5");
    std::vector<double> memory(600, 0.0);
    for (std::int64_t row = 0; row < 20; ++row)
      for (std::int64_t column = 0; column < 30; ++column)
        if (row * pitch + column < 600)
          memory[static_cast<std::size_t>(row * pitch + column)] = std::tanh(at(e, 0, row * 30 + column));
    e.fill([&](std::int64_t i) { return memory[static_cast<std::size_t>(i)]; });
    expect_cause(e.diagnosis(), "results.pitch_" + std::to_string(pitch),
                 "stores the rows of the result " + std::to_string(pitch) + " elements apart, where 30 are");
  }
}

// One element that belongs to no such order is enough.
TEST(DiagnoseMisread, NothingThatIsAlmostSo) {
  Experiment e("mm:f32:self=24x30,mat2=30x40:data=normal:seed=7");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 30; ++k)
      sum += at(e, 0, i / 40 * 30 + k) * at(e, 1, k / 2 * 40 + i % 40 + (k == 29 && i == 7 ? 1 : 0));
    return sum;
  });
  const Diagnosis d = e.diagnosis();
  EXPECT_TRUE(d.causes.empty() || !d.causes[0].proven);
}

}  // namespace
}  // namespace assay::diagnose
