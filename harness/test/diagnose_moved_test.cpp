// `assay diagnose`: results that stand elsewhere, that another operator gives, or that went through a function which was not asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "diagnose_experiment.h"
#include "harness/diagnose/another_operator.h"
#include "harness/diagnose/fused.h"
#include "harness/diagnose/moved.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kProduct = "mm:f32:self=24x30,mat2=30x40:data=normal:seed=7";
constexpr std::int64_t kRows = 24, kColumns = 40;

// Each result is the right one of another place.
Diagnosis of_places(const std::function<std::int64_t(std::int64_t row, std::int64_t column)>& from) {
  Experiment e(kProduct);
  Expectation right(e.call);
  e.fill([&](std::int64_t i) {
    return right.values(0)[static_cast<std::size_t>(from(i / kColumns, i % kColumns))];
  });
  return e.diagnosis();
}
Diagnosis of_rows(const std::function<std::int64_t(std::int64_t row)>& from) {
  return of_places([&](std::int64_t row, std::int64_t column) { return from(row) * kColumns + column; });
}

// Of what goes in: the results are then no results that stand elsewhere.
TEST(DiagnoseMoved, TwoColumnsTakenForEachOther) {
  Experiment e(kProduct);
  const auto column = [](std::int64_t k) { return k == 28 ? 29 : k == 29 ? 28 : k; };
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 30; ++k)
      sum += e.tensor(0).get(i / kColumns * 30 + column(k)) * e.tensor(1).get(k * kColumns + i % kColumns);
    return sum;
  });
  const Diagnosis d = e.diagnosis();
  EXPECT_THAT(to_text(d, Style(false)), HasSubstr("reads indices 28 and 29 of dimension"));
  EXPECT_TRUE(d.causes[0].proven);
}

TEST(DiagnoseMoved, RowsInAnotherOrder) {
  const struct {
    const char* cause;
    std::function<std::int64_t(std::int64_t)> from;
  } kOrders[] = {
      {"results.exchanged_in_dimension_0", [](std::int64_t r) { return r == 3    ? 17
                                                                       : r == 17 ? 3
                                                                                 : r; }},
      {"results.rotated_by_7_in_dimension_0", [](std::int64_t r) { return (r + 7) % kRows; }},
      {"results.reversed_in_dimension_0_in_4s", [](std::int64_t r) { return r / 4 * 4 + 3 - r % 4; }},
      {"results.rotated_by_1_in_dimension_0_in_6s", [](std::int64_t r) { return r / 6 * 6 + (r + 1) % 6; }},
      {"results.interleaved_by_2_in_dimension_0", [](std::int64_t r) { return r % 2 * 12 + r / 2; }},
      {"results.interleaved_by_8_in_dimension_0", [](std::int64_t r) { return r % 8 * 3 + r / 8; }},
      {"results.blocks_of_4_in_another_order_in_dimension_0",
       [](std::int64_t r) { return (r / 4 ^ 1) * 4 + r % 4; }},
      {"results.first_6_repeated_in_dimension_0", [](std::int64_t r) { return r % 6; }},
      {"results.indices_permuted_in_dimension_0", [](std::int64_t r) { return r * 7 % kRows; }},
      {"results.displaced_by_-1_in_dimension_0",
       [](std::int64_t r) { return std::max<std::int64_t>(r - 1, 0); }}};
  for (const auto& order : kOrders) {
    const Diagnosis d = of_rows(order.from);
    EXPECT_EQ(first_cause(d), order.cause) << to_text(d, Style(false));
    EXPECT_TRUE(!d.causes.empty() && d.causes[0].proven) << order.cause;
  }
}

TEST(DiagnoseMoved, AlongTwoDimensions) {
  Diagnosis d = of_places([](std::int64_t r, std::int64_t c) {
    return r < 1 || c < 2 ? r * kColumns + c : (r - 1) * kColumns + c - 2;
  });
  EXPECT_EQ(first_cause(d), "results.displaced_by_-1_in_dimension_0_and_-2_in_dimension_1")
      << to_text(d, Style(false));
  EXPECT_THAT(summary(d), Not(HasSubstr("round the end")));
  d = of_places(
      [](std::int64_t r, std::int64_t c) { return (r + 3) % kRows * kColumns + (c + 5) % kColumns; });
  EXPECT_EQ(first_cause(d), "results.displaced_by_3_in_dimension_0_and_5_in_dimension_1")
      << to_text(d, Style(false));
  EXPECT_THAT(summary(d), HasSubstr("and round the end"));
  d = of_places([](std::int64_t r, std::int64_t c) {
    return r / 8 == 1 && c / 8 == 2 ? (r + 1) * kColumns + c + 1 : r * kColumns + c;
  });
  EXPECT_THAT(summary(d),
              HasSubstr("at the elements that diverge, what belongs 1 further on in dimension 0 and"))
      << to_text(d, Style(false));
}

TEST(DiagnoseMoved, OthersAreNot) {
  Experiment e(kProduct);
  Expectation right(e.call);
  std::mt19937 random(1);
  std::vector<std::size_t> order(kRows * kColumns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  const std::function<double(std::size_t)> kWrong[] = {
      [&](std::size_t i) { return right.values(0)[order[i]]; },
      [&](std::size_t i) {
        return i / kColumns == 3 ? std::sin(static_cast<double>(i)) : right.values(0)[i];
      },
      [&](std::size_t i) { return right.values(0)[i] * 1.01; }};
  for (const auto& wrong : kWrong) {
    e.fill([&](std::int64_t i) { return wrong(static_cast<std::size_t>(i)); });
    Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
    EXPECT_THAT(moved_of(evidence), IsEmpty());
  }
}

TEST(DiagnoseFused, FunctionsWhoseNumbersAreReadOff) {
  Experiment e("linear:f32:input=24x32,weight=20x32,bias=20:data=normal:seed=3");
  Expectation right(e.call);
  const auto x = [&](std::int64_t i) {
    return static_cast<double>(static_cast<float>(right.values(0)[static_cast<std::size_t>(i)]));
  };
  const auto bias = [&](std::int64_t i) { return e.tensor(2).get(i % 20); };
  const auto bf16 = [](double y) { return round_to(y, format(Dtype::bf16)); };
  const auto row_sum = [&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = i / 20 * 20; k < i / 20 * 20 + 20; ++k) sum += std::exp(x(k));
    return sum;
  };
  const struct {
    const char* cause;
    std::function<double(std::int64_t)> value;
  } kFunctions[] = {
      {"results.then_leaky_relu_of_slope_0.2", [&](std::int64_t i) { return x(i) < 0 ? 0.2 * x(i) : x(i); }},
      {"results.then_elu", [&](std::int64_t i) { return x(i) < 0 ? std::expm1(x(i)) : x(i); }},
      {"results.then_elu_of_alpha_0.3",
       [&](std::int64_t i) { return x(i) < 0 ? 0.3 * std::expm1(x(i)) : x(i); }},
      {"results.then_softplus", [&](std::int64_t i) { return std::log1p(std::exp(x(i))); }},
      {"results.then_mish", [&](std::int64_t i) { return x(i) * std::tanh(std::log1p(std::exp(x(i)))); }},
      {"results.exponential", [&](std::int64_t i) { return std::exp(x(i)); }},
      {"results.then_clamped", [&](std::int64_t i) { return std::clamp(x(i), -1.5, 4.0); }},
      {"results.then_softmax_over_dimension_1", [&](std::int64_t i) { return std::exp(x(i)) / row_sum(i); }},
      {"results.silu_before_bias",
       [&](std::int64_t i) {
         const double p = x(i) - bias(i);
         return p / (1 + std::exp(-p)) + bias(i);
       }},
      {"results.tanh_before_bias", [&](std::int64_t i) { return std::tanh(x(i) - bias(i)) + bias(i); }},
      {"results.then_relu_of_bf16", [&](std::int64_t i) { return std::max(bf16(x(i)), 0.0); }},
      {"results.then_silu_of_bf16_twice",
       [&](std::int64_t i) { return bf16(bf16(x(i)) / (1 + std::exp(-bf16(x(i))))); }}};
  for (const auto& f : kFunctions) {
    e.fill(f.value);
    const Diagnosis d = e.diagnosis();
    EXPECT_EQ(first_cause(d), f.cause) << to_text(d, Style(false));
    EXPECT_TRUE(!d.causes.empty() && d.causes[0].proven) << f.cause;
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> slope(0, 1);
  e.fill([&](std::int64_t i) { return x(i) < 0 ? slope(random) * x(i) : x(i); });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  EXPECT_THAT(fused_of(evidence), IsEmpty());
}

Diagnosis of_function(const char* text, const std::function<double(const Experiment&, std::int64_t)>& value) {
  Experiment e(text);
  e.fill([&](std::int64_t i) { return value(e, i); });
  return e.diagnosis();
}

TEST(DiagnoseAnother, ResultsOfAnotherOperator) {
  Diagnosis d = of_function(
      "add.Tensor:f32:self=20x30,other=20x30:data=normal:seed=3",
      [](const Experiment& e, std::int64_t i) { return e.tensor(0).get(i) * e.tensor(1).get(i); });
  EXPECT_EQ(first_cause(d), "results.of_mul.Tensor") << to_text(d, Style(false));
  EXPECT_THAT(summary(d), HasSubstr("gives the result of mul.Tensor(self, other)"));
  EXPECT_TRUE(d.causes[0].proven);
  d = of_function("amax:f32:self=20x30,dim=[1],keepdim=false:data=normal:seed=3",
                  [](const Experiment& e, std::int64_t i) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < 30; ++k) sum += e.tensor(0).get(i * 30 + k);
                    return sum / 30;
                  });
  EXPECT_THAT(summary(d), HasSubstr("the result of mean.dim(self, dim)")) << to_text(d, Style(false));
  // Another kernel errs more where x (1 + erf(x)) cancels: that is not proven, and said.
  d = of_function("relu:f32:self=20x30:data=normal:seed=3", [](const Experiment& e, std::int64_t i) {
    const auto x = static_cast<float>(e.tensor(0).get(i));
    return x * 0.5f * (1.0f + static_cast<float>(std::erf(x * 0.70710678f)));
  });
  EXPECT_EQ(first_cause(d), "results.of_gelu") << to_text(d, Style(false));
}

// An engine that asks for no places gives the values of a pooling alone.
TEST(DiagnoseAnother, APoolingOfAnotherKind) {
  const std::string window = ",kernel_size=[3,3],stride=[2,2],padding=[1,1],";
  const Call maximum = materialise(parse_case("max_pool2d_with_indices:f32:self=2x3x9x8" + window +
                                              "dilation=[1,1],ceil_mode=false:data=normal:seed=3"));
  for (const bool counted : {true, false}) {
    const std::string count = counted ? "" : "count_include_pad=false";
    const Call average = materialise(
        parse_case("avg_pool2d:f32:self=2x3x9x8" + window + "ceil_mode=false,count_include_pad=" +
                   (counted ? "true" : "false") + ",divisor_override=none:data=normal:seed=3"));
    ASSERT_EQ(maximum.error + average.error, "");
    const auto values = [](const Call& call) { return std::vector<std::byte>(Expectation(call).rounded(0)); };
    Evidence given_average(maximum, parse_contract("", Dtype::f32), {values(average), std::nullopt});
    const Diagnosis d = diagnose(given_average, {.patience = {.pairs = {}}});
    EXPECT_EQ(first_cause(d), "results.of_avg_pool2d") << to_text(d, Style(false));
    EXPECT_THAT(summary(d), HasSubstr(count));
    if (!counted) continue;
    Evidence given_maximum(average, parse_contract("", Dtype::f32), {values(maximum)});
    const Diagnosis back = diagnose(given_maximum, {.patience = {.pairs = {}}});
    EXPECT_EQ(first_cause(back), "results.of_max_pool2d") << to_text(back, Style(false));
  }
}

TEST(DiagnoseAnother, NoneThatIsNear) {
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, 1e-3);
  Experiment e("add.Tensor:f32:self=20x30,other=20x30:data=normal:seed=3");
  e.fill([&](std::int64_t i) { return e.tensor(0).get(i) * e.tensor(1).get(i) * (1 + error(random)); });
  Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed()});
  Evidence* const one[] = {&evidence};
  EXPECT_FALSE(another_operator(one));
  // A tensor that the other operator does not look at makes it another function.
  Experiment few("add.Tensor:f32:self=1,other=1:data=normal:seed=3");
  few.fill([&](std::int64_t i) { return few.tensor(0).get(i) * few.tensor(1).get(i); });
  Evidence little(few.call, parse_contract("", Dtype::f32), {few.result.packed()});
  Evidence* const another[] = {&little};
  EXPECT_FALSE(another_operator(another));
}

TEST(DiagnoseAnother, ImagesByCubics) {
  for (const double a : {-0.75, -0.5}) {
    const Diagnosis d = of_function(
        "upsample_bilinear2d:f32:self=1x1x6x7,output_size=[12,14],align_corners=false:data=normal:seed=3",
        [a](const Experiment& e, std::int64_t i) {
          const auto weight = [a](double x) {
            const double t = std::fabs(x);
            return t <= 1  ? (a + 2) * t * t * t - (a + 3) * t * t + 1
                   : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a
                           : 0;
          };
          const double y = (static_cast<double>(i / 14) + 0.5) / 2 - 0.5,
                       x = (static_cast<double>(i % 14) + 0.5) / 2 - 0.5;
          double sum = 0;
          for (int r = static_cast<int>(std::floor(y)) - 1; r <= std::floor(y) + 2; ++r)
            for (int c = static_cast<int>(std::floor(x)) - 1; c <= std::floor(x) + 2; ++c)
              sum += weight(y - r) * weight(x - c) *
                     e.tensor(0).get(std::clamp(r, 0, 5) * 7 + std::clamp(c, 0, 6));
          return sum;
        });
    EXPECT_EQ(first_cause(d), a == -0.75 ? "formula.bicubic" : "formula.bicubic_by_half")
        << to_text(d, Style(false));
  }
}

// Indices of other frameworks, and of equal numbers the last one.
TEST(DiagnoseAnother, IndicesOfPooling) {
  Experiment e(
      "max_pool2d_with_indices:f32:self=2x3x6x8,kernel_size=[2,2],stride=[2,2],padding=[0,0],dilation=[1,1],"
      "ceil_mode=false:data=normal:seed=3");
  auto& self = std::get<TensorData>(e.call.arguments[0]);
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < self.numel(); ++i) self.set(i, static_cast<double>(random() % 3));
  const struct {
    const char *cause, *definition;
    bool last;
    std::function<std::int64_t(std::int64_t plane, std::int64_t y, std::int64_t x)> place;
  } kPlaces[] = {{"formula.last_of_equal", "", true, [](auto, auto y, auto x) { return y * 8 + x; }},
                 {"formula.place_in_the_batch", "TensorFlow", false,
                  [](auto p, auto y, auto x) { return ((p / 3 * 6 + y) * 8 + x) * 3 + p % 3; }},
                 {"formula.place_down_columns_in_the_tensor", "storage_order=1", false,
                  [](auto p, auto y, auto x) { return p * 48 + x * 6 + y; }},
                 {"formula.place_down_columns", "", false, [](auto, auto y, auto x) { return x * 6 + y; }}};
  TensorData indices(e.call.outputs[1].dtype, e.call.outputs[1].shape);
  for (const auto& p : kPlaces) {
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
      const std::int64_t plane = i / 12, top = i / 4 % 3 * 2, left = i % 4 * 2;
      double most = -HUGE_VAL;
      for (std::int64_t k = 0; k < 4; ++k) {
        const std::int64_t y = top + k / 2, x = left + k % 2;
        const double here = e.tensor(0).get((plane * 6 + y) * 8 + x);
        if (here < most || (here == most && !p.last)) continue;
        most = here;
        indices.set(i, static_cast<double>(p.place(plane, y, x)));
      }
      e.result.set(i, most);
    }
    Evidence evidence(e.call, parse_contract("", Dtype::f32), {e.result.packed(), indices.packed()});
    const Diagnosis d = diagnose(evidence);
    EXPECT_EQ(first_cause(d), p.cause) << to_text(d, Style(false));
    ASSERT_FALSE(d.causes.empty());
    EXPECT_THAT(d.causes[0].definition, HasSubstr(p.definition));
  }
}

// One element, or one group, and numbers of two digits.
TEST(DiagnoseWording, SaysOneOfOne) {
  Experiment one("relu:f32:self=1:data=ones:seed=3");
  std::get<TensorData>(one.call.arguments[0]).set(0, 1);
  one.fill([](std::int64_t) { return 1; });
  EXPECT_THAT(to_text(one.diagnosis(), Style(false)), HasSubstr("The one element is inside the bound"));
  Experiment forty("relu:f32:self=40x25:data=normal:seed=3");
  Expectation right(forty.call);
  forty.fill([&](std::int64_t i) { return 40 * right.values(0)[static_cast<std::size_t>(i)]; });
  EXPECT_THAT(summary(forty.diagnosis()), HasSubstr("40 times"));
}

}  // namespace
}  // namespace assay::diagnose
