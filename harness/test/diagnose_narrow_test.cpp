// `assay diagnose`: what arithmetic in fewer bits is worth as a cause, and what is an approximation instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "diagnose_experiment.h"

namespace assay::diagnose {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

// Arithmetic in few bits admits, over many terms, nearly anything.
TEST(NarrowArithmetic, AWideBoundIsNoCause) {
  const auto name = [](const Diagnosis& d) { return d.causes.empty() ? std::string() : d.causes[0].name; };
  Experiment e("linear:f32:input=4x768,weight=24x768,bias=none:data=normal:seed=3");
  Expectation right(e.call);
  std::mt19937 random(1);
  std::normal_distribution<double> numbers(0, 20);
  e.fill([&](std::int64_t) { return numbers(random); });
  EXPECT_THAT(name(e.diagnosis(std::chrono::seconds(5))), Not(HasSubstr("arithmetic")));

  // One weight is a little off: the other columns are right, as they would not be in so few bits.
  Experiment one("mm:f32:self=8x64,mat2=64x24:data=normal:seed=3");
  Expectation product(one.call);
  one.fill([&](std::int64_t i) {
    const double x = one.tensor(0).get(i / 24 * 64 + 5), w = one.tensor(1).get(5 * 24 + 2);
    return product.values(0)[static_cast<std::size_t>(i)] + (i % 24 == 2 ? 0.05 * x * w : 0);
  });
  EXPECT_THAT(name(one.diagnosis()), Not(HasSubstr("arithmetic")));

  // What is computed so is named, and proven: with operands that are rounded, results are known as exactly as they were.
  Experiment narrow("mm:f32:self=8x64,mat2=64x24:data=normal:seed=3");
  narrow.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 64; ++k)
      sum += round_to(narrow.tensor(0).get(i / 24 * 64 + k), format(Dtype::bf16)) *
             round_to(narrow.tensor(1).get(k * 24 + i % 24), format(Dtype::bf16));
    return sum;
  });
  const Diagnosis d = narrow.diagnosis();
  EXPECT_EQ(name(d), "self_and_mat2.as_bf16");
  EXPECT_TRUE(d.causes[0].proven);
  ASSERT_EQ(d.weaker.size(), 1u);
  EXPECT_EQ(d.weaker[0].name, "arithmetic.products_of_bf16");
}

// An epsilon of 1e-3 is about as far off as factors in f16 would be.
TEST(NarrowArithmetic, AParameterThatGivesEveryElementSaysMoreThanAWideBound) {
  Experiment e(
      "native_batch_norm:f32:input=4x6x5x5,weight=none,bias=none,running_mean=6,running_var=6,training=false,momentum=0.1,eps=1e-05:data=normal:seed=3");
  auto& variance = std::get<TensorData>(e.call.arguments[4]);
  for (std::int64_t c = 0; c < 6; ++c) variance.set(c, 0.5 + 0.25 * static_cast<double>(c));
  e.fill([&](std::int64_t i) {
    const std::int64_t c = i / 25 % 6;
    return (e.tensor(0).get(i) - e.tensor(3).get(c)) / std::sqrt(variance.get(c) + 1e-3);
  });
  Evidence evidence(e.call, contract_or_strangers("", e.call),
                    {e.result.packed(), std::nullopt, std::nullopt});
  const Diagnosis d = diagnose(evidence, {});
  EXPECT_EQ(d.kind, Diagnosis::Kind::recovered) << to_text(d, Style(false));
  EXPECT_THAT(d.inverted, Contains(Field(&Inverted::argument, "eps")));
}

// bf16 would allow one element that is a little off, and would be wrong in the others as well.
TEST(NarrowArithmetic, ANarrowArithmeticIsNoCauseWhereTheRestIsExact) {
  Experiment e("sigmoid:f32:self=20x20:data=normal:seed=3");
  e.fill(
      [&](std::int64_t i) { return 1 / (1 + std::exp(-e.tensor(0).get(i))) * (i == 77 ? 1 + 0x1p-11 : 1); });
  EXPECT_EQ(e.diagnosis().kind, Diagnosis::Kind::unknown);
  e.fill(
      [&](std::int64_t i) { return round_to(1 / (1 + std::exp(-e.tensor(0).get(i))), format(Dtype::bf16)); });
  const Diagnosis all = e.diagnosis();
  ASSERT_EQ(all.kind, Diagnosis::Kind::named);
  EXPECT_THAT(all.causes[0].name, HasSubstr("bf16"));
}

// A zero that should be 1.6e-38: in the other elements, which are 0.5 or saturated, any narrow arithmetic gives the same.
TEST(NarrowArithmetic, AFewElementsProveNoCauseThatOnlyAllowsMore) {
  Experiment e("sigmoid:f32:self=11x4x21:data=trits:seed=2");
  e.fill([&](std::int64_t i) { return i == 883 ? 0.0 : 1 / (1 + std::exp(-e.tensor(0).get(i))); });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(d.kind, Diagnosis::Kind::ambiguous);
  EXPECT_THAT(summary(d), HasSubstr("perhaps computes in f16"));
}

// Wrong formulas have fewer readings than references, also where they are computed in narrower numbers.
TEST(NarrowArithmetic, AWrongFormulaMayBeComputedInNarrowNumbers) {
  Experiment e("prelu:f32:self=6x8x9,weight=8:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const double x = e.tensor(0).get(i);
    return round_to(std::max(x, e.tensor(1).get(i / 9 % 8) * x), format(Dtype::bf16));
  });
  const Diagnosis d = e.diagnosis(std::chrono::seconds(60));
  ASSERT_EQ(d.kind, Diagnosis::Kind::named);
  EXPECT_THAT(d.causes[0].name, AllOf(HasSubstr("formula.larger_product"), HasSubstr("bf16")));
}

// x * (1 + error), an error of up to 1.5 times 2^-12 in either direction, as AVX's reciprocals and roots have.
class Approximate {
 public:
  double operator()(double x) { return x * (1 + 1.5 * 0x1p-12 * error_(random_)); }

 private:
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> error_{-1, 1};
};

TEST(NarrowArithmetic, AnApproximationIsNoRoundingToF16) {
  Approximate approximate;
  for (const char* text :
       {"sigmoid:f32:self=20x20:data=normal:seed=3", "rsqrt:f32:self=30x20:data=uniform:seed=3",
        "div.Tensor:f32:self=17x20,other=17x20:data=normal:seed=3",
        "softmax.int:f32:self=20x31,dim=1:data=normal:seed=3"}) {
    Experiment e(text);
    Expectation right(e.call);
    e.fill([&](std::int64_t i) { return approximate(right.values(0)[static_cast<std::size_t>(i)]); });
    const Diagnosis d = e.diagnosis(std::chrono::seconds(1));
    ASSERT_EQ(d.kind, Diagnosis::Kind::named) << to_text(d, Style(false));
    EXPECT_EQ(first_cause(d), "arithmetic.approximate") << to_text(d, Style(false));
    EXPECT_THAT(summary(d), HasSubstr("about 11 correct bits")) << summary(d);
    // The same numbers, rounded to f16, are such.
    e.fill([&](std::int64_t i) {
      return round_to(right.values(0)[static_cast<std::size_t>(i)], format(Dtype::f16));
    });
    EXPECT_THAT(first_cause(e.diagnosis()), HasSubstr("f16")) << text;
  }
}

// One root for each row.
TEST(NarrowArithmetic, AnApproximationOfAPartIsOne) {
  Experiment e(
      "native_layer_norm:f32:input=40x16,normalized_shape=[16],weight=none,bias=none,eps=1e-05:data=normal:seed=3");
  Expectation right(e.call);
  Approximate approximate;
  std::vector<double> factors(40);
  for (double& f : factors) f = approximate(1);
  e.fill([&](std::int64_t i) {
    return right.values(0)[static_cast<std::size_t>(i)] * factors[static_cast<std::size_t>(i / 16)];
  });
  Evidence evidence(e.call, contract_or_strangers("", e.call),
                    {e.result.packed(), std::nullopt, std::nullopt});
  const Diagnosis d = diagnose(evidence, {.patience = {.pairs = std::chrono::seconds(1)}});
  EXPECT_EQ(first_cause(d), "arithmetic.approximate") << to_text(d, Style(false));
}

// A factor is a factor, however near to 1.
TEST(NarrowArithmetic, AFactorIsNoApproximation) {
  Experiment e("sigmoid:f32:self=20x20:data=normal:seed=3");
  Expectation right(e.call);
  e.fill([&](std::int64_t i) { return right.values(0)[static_cast<std::size_t>(i)] * (1 + 0x1p-11); });
  EXPECT_NE(first_cause(e.diagnosis()), "arithmetic.approximate");
}

}  // namespace
}  // namespace assay::diagnose
