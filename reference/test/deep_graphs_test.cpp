// Graphs of many layers: how far their results may be off is known, because errors that several numbers share are counted once
// (scalars/adjoint.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "attacks.h"
#include "graph/enrol_graph.h"

namespace assay::testing {
namespace {

struct DeepGraph {
  std::string name, text;
  std::vector<Shape> shapes{};  // of its arguments
  std::vector<double> scales{};

  void argument(const std::string& of_name, Shape shape, double scale) {
    text += fmt::format("{}Tensor {}", shapes.empty() ? "" : ", ", of_name);
    shapes.push_back(std::move(shape));
    scales.push_back(scale);
  }
};

// gelu(linear(...)) of so many layers.
DeepGraph perceptron(int layers, std::int64_t width) {
  DeepGraph g{fmt::format("perceptron{}", layers), fmt::format("assay::perceptron{}(", layers)};
  g.argument("x", {4, width}, 1);
  std::string body = "x";
  for (int l = 0; l < layers; ++l) {
    g.argument(fmt::format("w{}", l), {width, width}, 2 / std::sqrt(static_cast<double>(width)));
    body = fmt::format("gelu(linear({}, w{}))", body, l);
  }
  g.text += ") -> Tensor { " + body + " }";
  return g;
}

// Transformer blocks of one head, one after the other.
DeepGraph transformer(int blocks, std::int64_t rows, std::int64_t width) {
  DeepGraph g{fmt::format("transformer{}", blocks), fmt::format("assay::transformer{}(", blocks)};
  g.argument("x0", {rows, width}, 1);
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  std::string body;
  for (int b = 0; b < blocks; ++b) {
    for (const char* of : {"q", "k", "v", "o"})
      g.argument(fmt::format("w{}{}", of, b), {width, width}, scale);
    g.argument(fmt::format("up{}", b), {4 * width, width}, scale);
    g.argument(fmt::format("down{}", b), {width, 4 * width}, scale / 2);
    body += fmt::format(
        "n{0}, _, _ = native_layer_norm(x{0}, [{2}], none, none, 1e-5)\n"
        "q{0} = linear(n{0}, wq{0}); k{0} = linear(n{0}, wk{0}); v{0} = linear(n{0}, wv{0})\n"
        "s{0} = softmax(mm(q{0}, transpose(k{0}, 0, 1)) * {3}, -1)\n"
        "h{0} = x{0} + linear(mm(s{0}, v{0}), wo{0})\n"
        "m{0}, _, _ = native_layer_norm(h{0}, [{2}], none, none, 1e-5)\n"
        "x{1} = h{0} + linear(gelu(linear(m{0}, up{0})), down{0})\n",
        b, b + 1, width, scale);
  }
  g.text += fmt::format(") -> Tensor\n shapes x0=[{0},{1}] -> [{0},{1}]\n{{ {2} return x{3} }}", rows, width,
                        body, blocks);
  return g;
}

class DeepGraphs : public ::testing::Test {
 protected:
  // Half the width of intervals beside the value: the median of some elements. None of them is left by an attack.
  static double half_width(const DeepGraph& g, const char* contract_text, std::int64_t probes) {
    enrol_graph(g.text);
    Call c(g.name);
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < g.shapes.size(); ++i) {
      std::vector<double> elements(static_cast<std::size_t>(numel(g.shapes[i])));
      for (double& x : elements) x = normal(random) * g.scales[i];
      c.tensor(Dtype::f32, g.shapes[i], elements);
    }
    Evaluation& e = c.evaluate();
    const Contract contract = parse_contract(contract_text, Dtype::f32);
    const auto n = static_cast<std::int64_t>(c.values(0).size());
    std::vector<double> widths;
    double worst = 0;
    for (std::int64_t p = 0; p < probes; ++p) {
      const std::int64_t at = p * n / probes;
      const Interval i = e.interval(0, at, contract);
      widths.push_back((i.upper - i.lower) / 2 / std::fabs(i.value));
      EXPECT_TRUE(e.truth_inside(0, at, i)) << g.name << " element " << at;
      for (const Attack::Rounding rounding : kRoundings)
        for (const bool shuffle : {false, true}) {
          const double result = e.attacked(0, at, contract, {rounding, shuffle, shuffle, 1});
          EXPECT_TRUE(i.contains(result))
              << g.name << " element " << at << ": " << result << " " << describe(i);
          worst = std::max(worst, i.error_over_bound(result));
        }
    }
    std::ranges::sort(widths);
    const double median = widths[widths.size() / 2];
    std::printf("%-14s %-26s half width / |value| %.2e, worst attack / bound %.3f\n", g.name.c_str(),
                contract_text, median, worst);
    return median;
  }
};

// Layer after layer in absolute values, these are 17, 0.27 and infinite.
TEST_F(DeepGraphs, AreJudgedWhereAbsoluteValuesSayNothing) {
  EXPECT_LT(half_width(perceptron(6, 64), "", 9), 0.03);
  EXPECT_LT(half_width(transformer(1, 8, 32), "", 9), 1e-3);
  EXPECT_LT(half_width(transformer(2, 4, 32), "", 5), 1e-2);
}

TEST_F(DeepGraphs, AreJudgedMoreSharplyWhereSumsAreShort) {
  EXPECT_LT(half_width(transformer(1, 8, 32), "chain=partial(8) -- test", 9), 3e-4);
}

}  // namespace
}  // namespace assay::testing
