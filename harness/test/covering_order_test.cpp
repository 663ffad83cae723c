#include "harness/generate/covering_order.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "generate_fixture.h"
#include "harness/generate/case_classes.h"
#include "harness/generate/cases.h"
#include "harness/generate/families.h"
#include "harness/verify/short_run.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::IsSubsetOf;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr std::uint64_t kCases = 250;
constexpr std::uint64_t kLeastCases = kLeastRounds * kRound;

// Every operator of the tree, and the toys of generation.
template <class Visit>  // (operator, dtype)
void each_operator_and_dtype(const Visit& visit) {
  toys::all();
  std::size_t n = 0;
  for (const Operator* op : operators())
    for (int d = 0; d < kDtypes; ++d)
      if (op->dtypes.contains(static_cast<Dtype>(d)) && op != &toys::without_pattern)
        if (n++ % effort<std::size_t>(1, 16) == 0) visit(*op, static_cast<Dtype>(d));
}

std::vector<std::set<std::string>> classes_of_cases(const Operator& op, Dtype dtype, std::uint64_t seed) {
  std::vector<std::set<std::string>> all;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const std::vector<std::string> classes = classes_of(generate(op, dtype, seed, i));
    all.emplace_back(classes.begin(), classes.end());
  }
  return all;
}

// How many cases of the order it takes to have met each class that any of them has.
std::size_t cover(const std::vector<std::uint64_t>& order,
                  const std::vector<std::set<std::string>>& classes) {
  std::set<std::string> missing;
  for (const auto& c : classes) missing.insert(c.begin(), c.end());
  std::size_t n = 0;
  for (; !missing.empty() && n < order.size(); ++n)
    for (const std::string& c : classes[order[n]]) missing.erase(c);
  return missing.empty() ? n : order.size() + 1;
}

TEST(CoveringOrder, HasEveryClassOfEveryOperatorAmongTheLeastCasesOfAShortRun) {
  std::size_t longest = 0;
  each_operator_and_dtype([&](const Operator& op, Dtype dtype) {
    const std::vector<std::uint64_t> order = covering_order(op, dtype, 0, kCases);
    std::vector<std::uint64_t> sorted = order, numbers(kCases);
    std::ranges::sort(sorted);
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
    ASSERT_EQ(sorted, numbers) << op.schema.name;
    const auto classes = classes_of_cases(op, dtype, 0);
    const std::size_t n = cover(order, classes);
    EXPECT_LE(n, kLeastCases) << op.schema.name << " " << name(dtype);
    longest = std::max(longest, n);

    // Each kind of data of the operator occurs; its shapes are empty, of one element, and at the edges of vectors.
    std::set<std::string> first;
    for (std::uint64_t i = 0; i < kLeastCases; ++i)
      first.insert(classes[order[i]].begin(), classes[order[i]].end());
    for (const Family& f : families()) {
      if (weight_for(op, f) == 0) continue;
      EXPECT_THAT(first, Contains(fmt::format("data {}", f.name))) << op.schema.name << " " << name(dtype);
    }
    EXPECT_THAT(first, Contains("shape of vectors and one more")) << op.schema.name << " " << name(dtype);
    EXPECT_THAT(first, Contains("layout strides")) << op.schema.name << " " << name(dtype);
  });
  // One round is not enough, so the test would see a prefix that is too short.
  EXPECT_GT(longest, kRound);
}

TEST(CoveringOrder, HoldsForOtherSeeds) {
  for (std::uint64_t seed = 1; seed < effort<std::uint64_t>(20, 3); ++seed)
    for (const Operator* op : {&ops::prelu, &ops::mm, &toys::choice, &toys::layers}) {
      const auto order = covering_order(*op, Dtype::f32, seed, kCases);
      EXPECT_LE(cover(order, classes_of_cases(*op, Dtype::f32, seed)), kLeastCases)
          << op->schema.name << " " << seed;
      EXPECT_EQ(order, covering_order(*op, Dtype::f32, seed, kCases));
    }
}

TEST(CoveringOrder, WouldNotCoverInTheOrderOfTheNumbers) {
  std::vector<std::uint64_t> numbers(kCases);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  EXPECT_GT(cover(numbers, classes_of_cases(ops::prelu, Dtype::f32, 0)), 2 * kLeastCases);
}

std::vector<std::string> classes(const std::string& case_text) {
  toys::all();
  return classes_of(parse_case(case_text));
}

TEST(CaseClasses, SayWhatACaseTries) {
  EXPECT_THAT(classes("relu:f32:self=2x0x3:data=edge:seed=1"),
              IsSupersetOf({"data edge", "shape empty", "shape of 3 dimensions", "layout contiguous"}));
  EXPECT_THAT(classes("relu:f32:self=:seed=0"),
              IsSupersetOf({"shape of a scalar tensor", "shape of one element", "shape of 0 dimensions"}));
  EXPECT_THAT(classes("relu:f32:self=1x1x1x1x1x1:seed=0"),
              IsSupersetOf({"shape of one element", "shape of more than 5 dimensions"}));
  EXPECT_THAT(classes("relu:f32:self=3x17:seed=0"), Contains("shape of vectors and one more"));
  EXPECT_THAT(classes("relu:f32:self=15:seed=0"), Contains("shape of vectors but for one"));
  EXPECT_THAT(classes("relu:f32:self=64:seed=0"), Contains("shape of whole vectors"));
  EXPECT_THAT(classes("relu:f32:self=1:seed=0"), Not(Contains("shape of vectors and one more")));
  EXPECT_THAT(classes("relu:f32:self=257x129:seed=0"), Contains("shape for several threads"));
  EXPECT_THAT(classes("mm:f32:self=3x0,mat2=0x5:seed=0"), Contains("shape empty, results not"));
  EXPECT_THAT(classes("mm:f32:self=[3x4]@permuted(1,0),mat2=[4x5]@step2:seed=0"),
              IsSupersetOf({"layout permuted", "layout step2"}));
  EXPECT_THAT(classes("add.Tensor:f32:self=3x4,other=3x1:seed=0"), Contains("shapes that broadcast"));
  EXPECT_THAT(classes("add.Tensor:f32:self=3x4,other=4:seed=0"),
              Contains("shapes that broadcast, of fewer dimensions"));
  EXPECT_THAT(classes("add.Tensor:f32:self=3x4,other=3x4:seed=0"), Not(Contains("shapes that broadcast")));
  EXPECT_THAT(classes("softmax.int:f32:self=3x4,dim=-1:seed=0"), IsSupersetOf({"dim below 0", "dtype none"}));
}

}  // namespace
}  // namespace assay
