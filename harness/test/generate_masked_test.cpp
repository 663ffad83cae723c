#include "harness/generate/masked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "generate_fixture.h"
#include "harness/generate/case_classes.h"
#include "harness/generate/cases.h"
#include "harness/generate/covering_order.h"
#include "harness/verify/short_run.h"
#include "ops/amax.h"
#include "ops/max_pool2d.h"
#include "ops/sum.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::vector<double>> lines_along_last(const Call& call) {
  const std::vector<double> all = toys::values(call, 0);
  const auto length = static_cast<std::size_t>(std::get<TensorData>(call.arguments[0]).shape.back());
  std::vector<std::vector<double>> lines;
  for (std::size_t i = 0; i < all.size(); i += length)
    lines.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i),
                       all.begin() + static_cast<std::ptrdiff_t>(i + length));
  return lines;
}

// How many elements in front are -inf, of a line that has others.
std::size_t front(const std::vector<double>& line) {
  std::size_t n = 0;
  while (n < line.size() && line[n] == -kInfinity) ++n;
  return n == line.size() ? 0 : n;
}

void expect_each_mask(const std::vector<std::vector<double>>& lines, const std::string& of) {
  std::map<std::size_t, int> fronts;
  int whole = 0, ends = 0;
  for (const std::vector<double>& line : lines) {
    ++fronts[front(line)];
    whole += line.front() == -kInfinity && std::ranges::count(line, -kInfinity) == std::ssize(line) ? 1 : 0;
    ends += line.back() == -kInfinity && line.front() != -kInfinity ? 1 : 0;
  }
  for (const std::size_t n : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u})
    EXPECT_GT(fronts[n], 0) << of << ": " << n;
  EXPECT_EQ(whole, 1) << of;
  EXPECT_GT(ends, 0) << of;
}

TEST(GenerateMasked, ATensorOfManyLinesHasEachMaskWhateverTheSeed) {
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
      const std::string text = std::string("softmax.int:") + dtype +
                               ":self=31x259,dim=-1:data=masked:seed=" + std::to_string(seed);
      expect_each_mask(lines_along_last(toys::call_of(text)), text);
    }
}

TEST(GenerateMasked, LinesAreThoseThatTheCallReduces) {
  const Call columns = toys::call_of("softmax.int:f32:self=259x31,dim=0:data=masked:seed=7");
  const std::vector<double> all = toys::values(columns, 0);
  std::vector<std::vector<double>> lines(31);
  for (std::size_t i = 0; i < all.size(); ++i) lines[i % 31].push_back(all[i]);
  expect_each_mask(lines, "columns");

  const auto axes = [](const std::string& text) { return reduced_axes(parse_case(text), 0); };
  toys::all();
  using ::testing::ElementsAre;
  EXPECT_THAT(axes("amax:f32:self=2x3x4,dim=[0,-1],keepdim=false"), ElementsAre(0, 2));
  EXPECT_THAT(axes("amax:f32:self=2x3x4,dim=[],keepdim=false"), ElementsAre(0, 1, 2));
  EXPECT_THAT(axes("argmax:f32:self=2x3x4,dim=none,keepdim=false"), ElementsAre(0, 1, 2));
  EXPECT_THAT(axes("max_pool2d:f32:self=2x3x4x5,kernel_size=[2,2]"), ElementsAre(2, 3));
  EXPECT_THAT(axes("relu:f32:self=2x3x4"), ElementsAre(2));
  EXPECT_TRUE(axes("softmax.int:f32:self=[],dim=-1").empty());
}

TEST(GenerateMasked, SomethingIsLeftInEveryLineButOne) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const char* shape : {"1x2", "3x1", "5x3", "7x33", "40x17"}) {
      const auto lines = lines_along_last(toys::call_of(std::string("softmax.int:f32:self=") + shape +
                                                        ",dim=-1:data=masked:seed=" + std::to_string(seed)));
      std::size_t whole = 0;
      for (const auto& line : lines)
        whole += std::ranges::none_of(line, [](double v) { return std::abs(v) < 1e30; }) ? 1 : 0;
      EXPECT_LE(whole, lines.size() > 1 ? 1u : 0u) << shape << " " << seed;
    }
}

TEST(GenerateMasked, IntegersAreTheirLeast) {
  const std::vector<double> all =
      toys::values(toys::call_of("amax:i8:self=31x259,dim=[-1],keepdim=false:data=masked:seed=3"), 0);
  EXPECT_GT(std::ranges::count(all, -128.0), 259);
}

// Every run has them: the shortest one, too, of each operator that reduces along dimensions, whatever the seed.
TEST(GenerateMasked, EachShortRunHasEachMaskAlongRowsAndColumns) {
  toys::all();
  int operators_seen = 0;
  for (const Operator* op : operators()) {
    const bool along_axes = std::ranges::any_of(
        op->schema.arguments(), [&](const Argument& a) { return domain(*op, a.name).has_axes(); });
    if (!along_axes || op == &toys::without_pattern) continue;
    ++operators_seen;
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      if (seed >= effort<std::uint64_t>(10, 1)) break;
      for (int d = 0; d < kDtypes; ++d) {
        const auto dtype = static_cast<Dtype>(d);
        if (!op->dtypes.contains(dtype) || !is_float(dtype)) continue;
        const std::vector<std::uint64_t> order = covering_order(*op, dtype, seed, 250);
        std::set<std::string> classes;
        for (std::uint64_t i = 0; i < kLeastRounds * kRound; ++i)
          for (const std::string& name : classes_of(generate(*op, dtype, seed, order[i])))
            classes.insert(name);
        EXPECT_TRUE(classes.contains("data masked in every way, to the last dimension"))
            << op->schema.name << " " << seed;
        EXPECT_TRUE(classes.contains("data masked in every way, along others"))
            << op->schema.name << " " << seed;
      }
    }
  }
  EXPECT_GE(operators_seen, 9);
}

}  // namespace
}  // namespace assay
