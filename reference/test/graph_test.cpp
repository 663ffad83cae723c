// References of graphs: what they compute, and that no conforming kernel is rejected, wherever it stores and rounds.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "attacks.h"
#include "graph/enrol_graph.h"
#include "graphs.h"
#include "test/effort.h"

namespace assay::testing {
namespace {

const Contract kStrictest;

Call& with(Call& c, const std::vector<std::vector<double>>& tensors, Dtype dtype = Dtype::f32) {
  for (const std::vector<double>& t : tensors) c.tensor(dtype, {static_cast<std::int64_t>(t.size())}, t);
  return c;
}

TEST(GraphReading, IsTheFormulasOneAfterTheOther) {
  enrol_graph("assay::v1(Tensor a, Tensor b, float s) -> Tensor { exp(a * s) - b }");
  Call c("v1");
  with(c, {{0.25, -1, 3}, {0.5, 2, -7}}).real(2);
  const std::vector<double> values = (c.evaluate(), c.values(0));
  const double expected[] = {std::exp(0.5) - 0.5, std::exp(-2.0) - 2, std::exp(6.0) + 7};
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(values[k], expected[k], 1e-13 * std::fabs(expected[k]));
}

TEST(GraphReading, MovesElements) {
  enrol_graph(
      "assay::v2(Tensor a) -> Tensor { x, y = chunk(transpose(a, 0, 1), 2, 0); cat([y, x * 10], 1) }");
  Call c("v2");
  c.tensor(Dtype::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  c.evaluate();
  // The transposed one is [0 4, 1 5, 2 6, 3 7].
  EXPECT_EQ(c.values(0), (std::vector<double>{2, 6, 0, 40, 3, 7, 10, 50}));
}

// In the middle of a graph nothing must be rounded, and everything may.
TEST(GraphReading, AdmitsWhatIsStoredOnTheWayAndWhatIsNot) {
  enrol_graph("assay::v3(Tensor a, Tensor b) -> Tensor { exp(a) * b }");
  Call c("v3");
  with(c, {{0.3}, {0.7}}, Dtype::bf16);
  Evaluation& e = c.evaluate();
  const auto bf16 = [](double x) { return round_to(x, format(Dtype::bf16)); };
  const auto f32 = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  const double a = bf16(0.3), b = bf16(0.7);
  const double kept = bf16(f32(std::exp(a)) * b), stored = bf16(bf16(std::exp(a)) * b);
  const Interval i = e.interval(0, 0, parse_contract("compute=f32 -- test", Dtype::bf16));
  EXPECT_TRUE(i.contains(kept));
  EXPECT_TRUE(i.contains(stored));
  EXPECT_FALSE(i.contains(bf16(i.upper * (1 + 0x1p-7))));
  EXPECT_LE(i.upper - i.lower, 2.01 * 0x1p-8 * std::fabs(i.value) * 2);
}

// But what the text asks for is asked of kernels.
TEST(GraphReading, AConversionIsDemanded) {
  enrol_graph("assay::v4(Tensor a, Tensor b) -> Tensor { to(to(a * b, bf16), f32) * 3 }");
  Call c("v4");
  with(c, {{1 + 0x1p-9}, {1}});
  Evaluation& e = c.evaluate();
  const Interval i = e.interval(0, 0, kStrictest);
  EXPECT_TRUE(i.contains(3));  // 1 + 2^-9 is no bf16
  EXPECT_FALSE(i.contains(3 * (1 + 0x1p-9)));
}

// x - mean, of sums that are added in any order: a kernel may have the residual inside the sum.
TEST(GraphReading, AnOpenSumStaysOpen) {
  enrol_graph("assay::v5(Tensor x, Tensor w, Tensor r) -> Tensor { mm(x, w) + r }");
  Call c("v5");
  const float big = 0x1p24f;
  c.tensor(Dtype::f32, {1, 2}, {1, 1})
      .tensor(Dtype::f32, {2, 1}, {big, -big})
      .tensor(Dtype::f32, {1, 1}, {1});
  Evaluation& e = c.evaluate();
  const Interval i = e.interval(0, 0, kStrictest);
  EXPECT_TRUE(i.contains(1));
  EXPECT_TRUE(i.contains(static_cast<double>((1.0f + big) - big)));  // 0
}

TEST(GraphReading, CountsEachNodeOnceAndIntermediatesAreFree) {
  enrol_graph("assay::v6(Tensor a, Tensor b) -> Tensor { h = a * b; h * h }");
  Call c("v6");
  with(c, {std::vector<double>(10, 2), std::vector<double>(10, 3)});
  const Work w = c.evaluate().work();
  EXPECT_EQ(w.bytes_read, 80);
  EXPECT_EQ(w.bytes_written, 40);
  EXPECT_EQ(w.operations.multiplications, 20);
}

TEST(GraphReading, DerivativesAreThoseOfTheChainRule) {
  enrol_graph("assay::v7(Tensor a, Tensor b) -> Tensor { silu(a) * exp(b) }");
  Call c("v7");
  with(c, {{0.4}, {-0.3}}, Dtype::f64);
  Evaluation& e = c.evaluate();
  const double s = 1 / (1 + std::exp(-0.4)), silu = 0.4 * s, d_silu = s + 0.4 * s * (1 - s);
  const std::vector<std::vector<double>> direction{{1}, {2}};
  EXPECT_NEAR(e.derivative(0, 0, direction), (d_silu + 2 * silu) * std::exp(-0.3), 1e-14);
}

TEST(GraphReading, AnotherGraphOfTheNameIsRefused) {
  enrol_graph("assay::v8(Tensor a) -> Tensor { relu(a) }");
  EXPECT_NO_THROW(enrol_graph("assay::v8(Tensor a) -> Tensor {  relu(a)  }"));
  EXPECT_THROW(enrol_graph("assay::v8(Tensor a) -> Tensor { silu(a) }"), GraphError);
  EXPECT_THROW(enrol_graph("assay::relu(Tensor a) -> Tensor { silu(a) }"), GraphError);
}

// ---- Of every graph ----

constexpr int kCallsOfGraphs = effort(12, 1);

class Graphs : public ::testing::TestWithParam<std::string_view> {
 protected:
  const Operator& op() { return enrol_graph(GetParam()); }
};

struct GraphContract {
  const char* text;
  Dtype dtype;
};
constexpr GraphContract kGraphContracts[] = {
    {"", Dtype::f32},
    {"", Dtype::f16},
    {"", Dtype::f64},
    {"compute=f32 -- test", Dtype::bf16},
    {"compute=f32 -- test", Dtype::f16},
    {"compute=f32 chain=partial(3) moments=updating affine=folded -- test", Dtype::bf16},
    {"compute=f32 ftz=yes daz=yes -- test", Dtype::f16},
    {"accumulate=f64 -- test", Dtype::f32},
    {"multiply=bf16 moments=one_pass -- test", Dtype::f32},
    {"accumulate=bf16 store=faithful exp=2ulp -- test", Dtype::f32},
    {"moments=one_pass affine=folded chain=partial(3) ftz=yes -- test", Dtype::bf16},
    {"moments=updating accumulate=bf16 chain=blocked(4) daz=yes -- test", Dtype::f32},
    {"compute=bf16 accumulate=f16 multiply=bf16 store=faithful exp=3ulp div=2 ftz=yes daz=yes tiny=1e-30 -- test",
     Dtype::f16},
};

TEST_P(Graphs, NoAttackEscapes) {
  for (const GraphContract& contract : kGraphContracts) {
    Worst worst;
    const int calls = contract.dtype == Dtype::f64 ? std::max(kCallsOfGraphs / 6, 1) : kCallsOfGraphs;
    for (const Family family : kFamilies)
      for (int k = 0; k < calls; ++k) {
        const auto seed = static_cast<std::uint64_t>(k);
        RandomCall c(op(), contract.dtype, family, 31 + 1000 * seed + static_cast<std::uint64_t>(family),
                     2 + k % 7);
        ASSERT_TRUE(withstands(c, parse_contract(contract.text, contract.dtype), seed, worst, 6))
            << contract.text << " " << name(contract.dtype) << " " << kFamilyNames[static_cast<int>(family)];
      }
    std::printf("%-16s %-5s %-30.30s %6ld elements, worst |error|/bound %.4f, undecidable %.2f%%\n",
                std::string(op().schema.name).c_str(), std::string(name(contract.dtype)).c_str(),
                contract.text, worst.elements, worst.ratio,
                100.0 * static_cast<double>(worst.undecidable) / static_cast<double>(worst.elements));
    const bool ends_are_reached =
        GetParam().find(" to(to(") == std::string_view::npos &&  // not where a conversion rounds all alike
        std::ranges::find(kDeepGraphs, GetParam()) == std::end(kDeepGraphs);
    if (!kSanitized && ends_are_reached) {
      EXPECT_GT(worst.ratio, 0.05) << contract.text;
    }
  }
}

TEST_P(Graphs, TheTruthIsInsideEveryInterval) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const Family family : kFamilies)
      for (int k = 0; k < kCallsOfGraphs; ++k) {
        RandomCall c(op(), dtype, family,
                     900 + static_cast<std::uint64_t>(k) * 17 + static_cast<std::uint64_t>(family), 6);
        for (int output = 0; output < static_cast<int>(c.call.outputs().size()); ++output)
          for (std::int64_t n = 0; n < std::min<std::int64_t>(c.call.numel(output), 6); ++n) {
            const Interval i = c.evaluation->interval(output, n, kStrictest);
            if (i.undecidable() || std::isinf(i.value) || i.nan) continue;
            EXPECT_TRUE(c.evaluation->truth_inside(output, n, i)) << c.text << " " << describe(i);
          }
      }
}

std::string name_of(const ::testing::TestParamInfo<std::string_view>& i) {
  const std::string text(i.param.substr(9));
  return text.substr(0, text.find('('));
}
INSTANTIATE_TEST_SUITE_P(Fused, Graphs, ::testing::ValuesIn(kGraphs), name_of);
INSTANTIATE_TEST_SUITE_P(Deep, Graphs, ::testing::ValuesIn(kDeepGraphs), name_of);

}  // namespace
}  // namespace assay::testing
