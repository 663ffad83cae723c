// `assay diagnose`: functions that are no operator here, computed as somebody's kernel would, in f32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "diagnose_experiment.h"
#include "harness/diagnose/function_tables.h"
#include "harness/diagnose/known_functions.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;

// What is said of results that a function of the element's index gives.
std::string said_of_results(const char* text, const std::function<double(Experiment&, std::int64_t)>& result) {
  Experiment e(text);
  e.fill([&](std::int64_t i) { return static_cast<double>(static_cast<float>(result(e, i))); });
  const Diagnosis d = e.diagnosis();
  return first_cause(d) + ": " + to_text(d, Style(false));
}

float element(Experiment& e, int tensor, std::int64_t at) { return static_cast<float>(e.tensor(tensor).get(at)); }

TEST(DiagnoseFunctions, OfElements) {
  EXPECT_THAT(
      said_of_results("sigmoid:f32:self=40x5:data=normal:seed=2",
              [](Experiment& e, std::int64_t i) {
                const float s = 1 / (1 + std::exp(-element(e, 0, i)));
                return s * (1 - s);
              }),
      HasSubstr("gives the derivative of sigmoid (s (1 - s), with s = sigmoid(x)), of each x of self"));
  EXPECT_THAT(said_of_results("add.Tensor:f32:self=40x5,other=5:data=normal:seed=2",
                      [](Experiment& e, std::int64_t i) { return std::hypot(element(e, 0, i), element(e, 1, i % 5)); }),
              HasSubstr("gives hypot (sqrt(x^2 + y^2)), of each x of self and y of other"));
}

TEST(DiagnoseFunctions, OfRows) {
  const auto row = [](Experiment& e, std::int64_t i, std::int64_t n) {
    std::vector<float> r;
    for (std::int64_t k = 0; k < n; ++k) r.push_back(element(e, 0, i * n + k));
    return r;
  };
  EXPECT_THAT(said_of_results("mean.dim:f32:self=30x9,dim=[1],keepdim=false:data=normal:seed=2",
                      [&](Experiment& e, std::int64_t i) {
                        std::vector<float> r = row(e, i, 9);
                        std::ranges::sort(r);
                        return r[4];
                      }),
              HasSubstr("gives the median, the lower of two of each row of self along dimension 1"));
  EXPECT_THAT(said_of_results("amax:f32:self=30x9,dim=[1],keepdim=true:data=normal:seed=2",
                      [&](Experiment& e, std::int64_t i) {
                        std::vector<float> r = row(e, i, 9);
                        std::ranges::sort(r);
                        return r[7];
                      }),
              HasSubstr("gives the second largest of each row of self along dimension 1"));
  EXPECT_THAT(
      said_of_results(
          "native_layer_norm:f32:input=30x9,normalized_shape=[9],weight=9,bias=9,eps=1e-5:data=normal:seed=2",
          [&](Experiment& e, std::int64_t i) {
            const std::vector<float> r = row(e, i / 9, 9);
            const auto [least, most] = std::ranges::minmax(r);
            return (element(e, 0, i) - least) / (most - least + 1e-5F) * element(e, 2, i % 9) + element(e, 3, i % 9);
          }),
      HasSubstr(
          "gives (x - smallest) / (largest - smallest + eps), times weight, plus bias, of the rows of input"));
}

// Which much lower precision would admit, too: sums of parts of rows.
TEST(DiagnoseFunctions, OfPartsOfRows) {
  const auto sum = [](Experiment& e, std::int64_t row, std::int64_t n, std::int64_t part,
                      const std::function<float(float)>& f) {
    float s = 0;
    for (std::int64_t k = 0; k < part; ++k) s += f(element(e, 0, row * n + k));
    return s;
  };
  EXPECT_THAT(said_of_results("softmax.int:f32:self=20x1500,dim=1:data=normal:seed=2",
                              [&](Experiment& e, std::int64_t i) {
                                return std::exp(element(e, 0, i)) /
                                       sum(e, i / 1500, 1500, 1024, [](float x) { return std::exp(x); });
                              }),
              HasSubstr("gives softmax, with the sum of the first 1024 alone"));
  EXPECT_THAT(
      said_of_results(
          "native_layer_norm:f32:input=40x259,normalized_shape=[259],weight=259,bias=259,eps=1e-5:data=normal:seed=2",
          [&](Experiment& e, std::int64_t i) {
            const float mean = sum(e, i / 259, 259, 256, [](float x) { return x; }) / 259;
            const float variance =
                sum(e, i / 259, 259, 256, [mean](float x) { return (x - mean) * (x - mean); }) / 259;
            return (element(e, 0, i) - mean) / std::sqrt(variance + 1e-5F) * element(e, 2, i % 259) +
                   element(e, 3, i % 259);
          }),
      HasSubstr("with sums of whole vectors of 4\n"));
}

// A fault that nobody knows, and that leaves the diagonal right, is not called another call's result.
TEST(DiagnoseFunctions, WhatIsRightInAPlaceIsNotUnrelated) {
  Experiment e(
      "native_layer_norm:f32:input=64x64,normalized_shape=[64],weight=64,bias=64,eps=1e-5:data=normal:seed=2");
  e.fill([&](std::int64_t i) {
    const std::int64_t row = i / 64;
    double mean = 0, variance = 0;
    for (std::int64_t k = 0; k < 64; ++k) mean += e.tensor(0).get(row * 64 + k) / 64;
    for (std::int64_t k = 0; k < 64; ++k) variance += std::pow(e.tensor(0).get(row * 64 + k) - mean, 2) / 64;
    return (e.tensor(0).get(i) - mean) / std::sqrt(variance + 1e-5) * e.tensor(2).get(row) +
           e.tensor(3).get(row);
  });
  const std::string said = to_text(e.diagnosis(), Style(false));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("have nothing to do with")));
  EXPECT_THAT(said, HasSubstr("Where dimension 1 is not equal to dimension 0"));
}

// A tie among thousands of numbers tells how ties are rounded.
TEST(DiagnoseFunctions, FactorsInTf32WithTiesAwayFromZero) {
  Experiment e("mm:f32:self=20x30,mat2=30x40:data=normal:seed=2");
  auto& left = std::get<TensorData>(e.call.arguments[0]);
  left.set(7, 1.00048828125);  // 1 + 2^-11
  const auto tf32 = [](double x) {
    int exponent = 0;
    const double m = std::frexp(x, &exponent);
    return std::ldexp(std::round(std::ldexp(m, 11)), exponent - 11);
  };
  e.fill([&](std::int64_t i) {
    double s = 0;
    for (std::int64_t k = 0; k < 30; ++k)
      s += tf32(e.tensor(0).get(i / 40 * 30 + k)) * tf32(e.tensor(1).get(k * 40 + i % 40));
    return s;
  });
  EXPECT_THAT(to_text(e.diagnosis(), Style(false)), HasSubstr("to tf32, ties away from zero, first"));
}

TEST(DiagnoseFunctions, OfTwoRows) {
  EXPECT_THAT(
      said_of_results("linear:f32:input=9x17,weight=12x17,bias=12:data=normal:seed=2",
              [](Experiment& e, std::int64_t i) {
                float sum = 0;
                for (std::int64_t k = 0; k < 17; ++k) {
                  const float d = element(e, 0, i / 12 * 17 + k) - element(e, 1, i % 12 * 17 + k);
                  sum += d * d;
                }
                return std::sqrt(sum) + element(e, 2, i % 12);
              }),
      HasSubstr("gives the Euclidean distance, plus bias, of each row of input and each row of weight"));
  EXPECT_THAT(
      said_of_results("bmm:f32:self=3x7x17,mat2=3x17x5:data=normal:seed=2",
              [](Experiment& e, std::int64_t i) {
                const std::int64_t b = i / 35, r = i / 5 % 7, c = i % 5;
                float most = -HUGE_VALF;
                for (std::int64_t k = 0; k < 17; ++k)
                  most = std::max(most, element(e, 0, (b * 7 + r) * 17 + k) + element(e, 1, (b * 17 + k) * 5 + c));
                return most;
              }),
      HasSubstr("gives the largest sum of two (max-plus) of each row of self and each column of mat2"));
}

TEST(DiagnoseFunctions, NanHasAPlace) {
  EXPECT_THAT(said_of_results("softmax.int:f32:self=12x40,dim=-1:data=normal:seed=2",
                      [](Experiment& e, std::int64_t i) {
                        float sum = 0, most = -HUGE_VALF;
                        for (std::int64_t k = 0; k < 40; ++k)
                          most = std::max(most, element(e, 0, i / 40 * 40 + k));
                        for (std::int64_t k = 0; k < 40; ++k)
                          sum += std::exp(element(e, 0, i / 40 * 40 + k) - most);
                        return i / 40 == 7 ? NAN : std::exp(element(e, 0, i) - most) / sum;
                      }),
              HasSubstr("results.nan: Cause found"));
}

// Quotients below 1 that are cut off: nothing else is known of what was computed.
TEST(DiagnoseFunctions, ZerosOfBothSignsAreNoParameter) {
  const auto cut = [](Experiment& e, std::int64_t i) {
    return std::trunc(element(e, 0, i) / (element(e, 1, i) + (element(e, 1, i) < 0 ? -9 : 9)));
  };
  EXPECT_THAT(said_of_results("div.Tensor:f32:self=20x30,other=20x30:data=normal:seed=2", cut),
              HasSubstr("results.zeros: Cause found"));
  EXPECT_THAT(said_of_results("div.Tensor:f32:self=20x30,other=20x30:data=normal:seed=2", cut),
              HasSubstr("gives 0 or -0 for each of 600 elements, with the sign of what is right"));
}

// Neither random numbers nor a function that nobody thought of has one of these names; nor have few different numbers.
TEST(DiagnoseFunctions, NothingElseIsOne) {
  const auto known = [](const char* text, const std::function<double(Experiment&, std::int64_t)>& result) {
    Experiment e(text);
    e.fill([&](std::int64_t i) { return static_cast<double>(static_cast<float>(result(e, i))); });
    Evidence evidence(e.call, parse_contract("", e.call.outputs[0].computed_in), {e.result.packed()});
    Evidence* const one[] = {&evidence};
    const auto found = known_function(one);
    return found ? found->says : "";
  };
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const char* text :
       {"gelu:f32:self=300:data=normal:seed=1", "mm:f32:self=9x17,mat2=17x12:data=normal:seed=1",
        "cumsum:f32:self=20x30,dim=1:data=normal:seed=1", "sum:f32:self=1000:data=normal:seed=1"}) {
    EXPECT_EQ(known(text, [&](Experiment&, std::int64_t) { return normal(random); }), "") << text;
    EXPECT_EQ(known(text, [&](Experiment& e, std::int64_t i) { return std::sin(3 * element(e, 0, i) + 0.1); }), "")
        << text;
    EXPECT_EQ(known(text, [&](Experiment&, std::int64_t i) { return i % 3; }), "") << text;
  }
}

TEST(DiagnoseFunctions, OfRowsAreWhatTheirNamesSay) {
  const std::vector<double> x{3, -1, 4, 1, -5, 9}, y{2, 7, 1, 8, 2, 8};
  const auto number = [&](std::string_view name) {
    for (const RowNumber& f : row_numbers())
      if (f.name == name) return f.of(x);
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_EQ(number("the median, the lower of two"), 1);
  EXPECT_EQ(number("the median, the upper of two"), 3);
  EXPECT_EQ(number("the lower quartile"), -0.5);
  EXPECT_EQ(number("the upper quartile"), 3.75);
  EXPECT_EQ(number("the middle of the range, (largest + smallest) / 2,"), 2);
  EXPECT_NEAR(number("the variance, by n - 1,"), 22.566666666666666, 1e-12);
  EXPECT_NEAR(number("the kurtosis"), 2.3126291, 1e-6);
  EXPECT_NEAR(number("the skewness"), 0.0765257, 1e-6);
  EXPECT_EQ(number("the median absolute distance from the median"), 2.5);
  EXPECT_EQ(number("the sum with alternating signs"), 3 + 1 + 4 - 1 - 5 - 9);
  const auto of_both = [&](std::string_view name) {
    for (const RowsNumber& f : rows_numbers())
      if (f.name == name) return f.of(x, y);
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_EQ(of_both("the product"), 73);
  EXPECT_NEAR(of_both("the correlation"), 0.2742079, 1e-6);
  EXPECT_EQ(of_both("the smallest sum of two (min-plus)"), -3);
  std::vector<double> result(6);
  for (const RowFunction& f : row_functions())
    if (f.formula == "sparsemax") {
      f.of(std::vector<double>{0.1, 1.1, 0.8, -2, 0, 0}, 0, result);
      EXPECT_NEAR(result[1], 0.65, 1e-12);
      EXPECT_NEAR(result[2], 0.35, 1e-12);
    }
  // No two have the same name.
  std::set<std::string_view> names;
  for (const RowNumber& f : row_numbers()) EXPECT_TRUE(names.insert(f.name).second) << f.name;
}

}  // namespace
}  // namespace assay::diagnose
