#include "harness/generate/cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "generate_fixture.h"
#include "harness/generate/check_case.h"
#include "harness/generate/families.h"
#include "harness/generate/layers.h"
#include "harness/generate/layouts.h"
#include "harness/generate/paths.h"
#include "harness/generate/shapes.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMany = 600;

TEST(GenerateCases, EveryCaseIsAllowedAndReadsBackFromItsText) {
  toys::each_row([](const Operator& op, Dtype dtype) {
    for (std::uint64_t i = 0; i < effort<std::uint64_t>(kMany, 60); ++i) {
      const Case c = generate(op, dtype, 7, i);
      const Checked checked = check_case(c);
      ASSERT_TRUE(checked.ok()) << text(c) << ": " << checked.error;
      ASSERT_EQ(checked.outputs[0].computed_in, dtype) << text(c);
      ASSERT_EQ(parse_case(text(c)), c) << text(c);
      ASSERT_NE(find_family(c.data), nullptr) << text(c);
    }
  });
}

TEST(GenerateCases, ACaseIsAFunctionOfSeedOperatorDtypeAndIndex) {
  std::map<std::uint64_t, Case> forwards;
  for (std::uint64_t i = 0; i < 200; ++i) forwards.emplace(i, generate(ops::add_tensor, Dtype::f32, 5, i));
  for (std::uint64_t i = 200; i-- > 0;)
    EXPECT_EQ(generate(ops::add_tensor, Dtype::f32, 5, i), forwards.at(i));

  std::set<std::string> different;
  for (const std::uint64_t seed : {5, 6})
    for (const Dtype dtype : {Dtype::f32, Dtype::f16})
      for (const Operator* op : {&ops::relu, &ops::add_tensor})
        different.insert(text(generate(*op, dtype, seed, 100)));
  EXPECT_EQ(different.size(), 8u);
}

TEST(GenerateCases, SomeTensorsHaveMoreDimensionsThanAnyOfAnImage) {
  std::map<std::size_t, int> ranks;
  for (std::uint64_t i = 0; i < 4 * kMany; ++i)  // of the cases that are neither layers nor planned one in 75 has the most
    ++ranks[check_case(generate(ops::relu, Dtype::f32, 3, i)).outputs[0].shape.size()];
  for (std::size_t rank = 0; rank <= kDeepRank; ++rank) EXPECT_GT(ranks[rank], 0) << rank;
  EXPECT_EQ(ranks.rbegin()->first, kDeepRank);
}

TEST(GenerateCases, ThreadsDoNotChangeCases) {
  std::vector<std::string> one(400), many(400);
  for (std::size_t i = 0; i < one.size(); ++i) one[i] = text(generate(ops::mm, Dtype::f32, 1, i));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < many.size(); i += 4) many[i] = text(generate(ops::mm, Dtype::f32, 1, i));
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(one, many);
}

// The cases of a seed, forever: a change here makes every recorded "seed N, case i" mean something else.
TEST(GenerateCases, CasesOfASeedAreTheSameOnEveryMachine) {
  EXPECT_EQ(text(generate(ops::add_tensor, Dtype::f32, 1, 1015)),
            "add.Tensor:f32:self=12x128x128,other=1x1x128:data=normal:seed=2819007330");
  EXPECT_EQ(text(generate(ops::add_tensor, Dtype::f32, 1, 1014)),
            "add.Tensor:self=f16[],other=bf16[],alpha=0:data=uniform:seed=504299052");
  EXPECT_EQ(
      text(generate(ops::softmax_int, Dtype::bf16, 2, 1023)),
      "softmax.int:f32:self=[7x1x2x128]@permuted(1,3,2,0),dim=3,dtype=bf16:data=masked:seed=2204641697");
}

TEST(GenerateCases, TheLadderIsSimpleFixedAndFirst) {
  toys::all();
  EXPECT_EQ(text(generate(ops::relu, Dtype::f32, 0, 0)).substr(0, 25), "relu:f32:self=[]:data=nor");
  std::set<std::string> shapes;
  bool empty_rows = false, empty_sum = false, empty_columns = false;
  for (std::uint64_t i = 0; i < ladder_length(ops::mm); ++i) {
    const Case c = generate(ops::mm, Dtype::f32, 0, i);
    Case other_seed = generate(ops::mm, Dtype::f32, 99, i);
    EXPECT_NE(c.seed, other_seed.seed);
    other_seed.seed = c.seed;
    EXPECT_EQ(c, other_seed);
    const Shape& a = tensors_of(c)[0]->shape;
    const Shape& b = tensors_of(c)[1]->shape;
    empty_rows |= a[0] == 0;
    empty_sum |= a[1] == 0;
    empty_columns |= b[1] == 0;
  }
  EXPECT_TRUE(empty_rows && empty_sum && empty_columns);
}

// What takes a vector along the wrong dimension is right wherever their sizes differ.
TEST(GenerateCases, TheLadderHasSquares) {
  std::set<std::string> beginnings;
  for (std::uint64_t i = 0; i < ladder_length(ops::add_tensor); ++i) {
    const std::string all = text(generate(ops::add_tensor, Dtype::f32, 0, i));
    beginnings.insert(all.substr(0, all.find(":data")));
  }
  for (const char* square :
       {"self=6,other=6x6", "self=6x1,other=6x6", "self=6x6,other=6", "self=6x6,other=6x1"})
    EXPECT_TRUE(beginnings.contains(std::string("add.Tensor:f32:") + square)) << square;
}

TEST(GenerateCases, SizesReachEveryVectorWidthAndItsNeighbours) {
  std::set<std::int64_t> sizes;
  bool distinct = false, equal = false, empty = false;
  for (std::uint64_t i = 0; i < 2 * kMany; ++i) {
    const Case c = generate(ops::mm, Dtype::f32, 3, i);
    const Shape& a = tensors_of(c)[0]->shape;
    const std::int64_t n = tensors_of(c)[1]->shape[1];
    sizes.insert({a[0], a[1], n});
    empty |= a[0] * a[1] * n == 0;
    equal |= a[0] == a[1] && a[1] == n && n > 1;
    distinct |= a[0] != a[1] && a[1] != n && n != a[0] && std::min({a[0], a[1], n}) > 1;
  }
  for (const std::int64_t width : {2, 4, 8, 16, 32, 64})
    for (const std::int64_t size : {width - 1, width, width + 1, 2 * width + 1})
      EXPECT_TRUE(sizes.contains(size)) << size;
  for (const std::int64_t size : {0, 13, 29, 53}) EXPECT_TRUE(sizes.contains(size)) << size;
  EXPECT_GT(*sizes.rbegin(), 400);
  EXPECT_TRUE(distinct && equal && empty);
}

TEST(GenerateCases, TensorsAndWorkStayWithinTheirBudgets) {
  std::int64_t beyond_default = 0, beyond_work = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Case c = generate(ops::mm, Dtype::f32, 0, i);
    const Shape& a = tensors_of(c)[0]->shape;
    const Shape& b = tensors_of(c)[1]->shape;
    if (is_to_be_split(ops::mm, i)) continue;
    // Layers are larger: one in three or more of them up to 8 million multiply-adds.
    ASSERT_LE(a[0] * a[1] * b[1], 8 << 20) << text(c);
    ASSERT_LE(std::max(numel(a), numel(b)), 2 << 19) << text(c);
    beyond_default += std::max(numel(a), numel(b)) > 4096 ? 1 : 0;
    beyond_work += a[0] * a[1] * b[1] > 300'000 ? 1 : 0;
  }
  EXPECT_GT(beyond_default, 0);
  EXPECT_LT(beyond_default, 900);  // rows of covering arrays are larger, too, where two sizes are
  EXPECT_GT(beyond_work, 20);
  EXPECT_LT(beyond_work, 300);
}

TEST(GenerateCases, EveryRankLayoutFamilyAndAttributeIsReached) {
  std::set<std::size_t> ranks;
  std::map<std::string, int> seen;
  for (std::uint64_t i = 0; i < 2 * kMany; ++i) {
    const Case add = generate(ops::add_tensor, Dtype::f32, 11, i);
    for (const TensorSpec* t : tensors_of(add)) {
      ranks.insert(t->shape.size());
      ++seen["layout " + text(t->layout).substr(0, 6)];
      ++seen["dtype " + std::string(name(t->dtype))];
    }
    ++seen["data " + add.data];
    ++seen[std::holds_alternative<double>(add.arguments[2]) ? "real alpha" : "integer alpha"];
    if (const auto* alpha = std::get_if<double>(&add.arguments[2])) {
      ++seen[*alpha == 0            ? "alpha 0"
             : *alpha < 0           ? "alpha < 0"
             : std::abs(*alpha) < 1 ? "alpha < 1"
                                    : "alpha >= 1"];
      seen["far alpha"] += std::abs(*alpha) > 100 || std::abs(*alpha) < 1e-5 ? 1 : 0;
    }
    const Shape& a = tensors_of(add)[0]->shape;
    const Shape& b = tensors_of(add)[1]->shape;
    ++seen[a == b ? "same shape" : a.size() < b.size() ? "self has fewer dimensions" : "other broadcasts"];

    const Case softmax = generate(ops::softmax_int, Dtype::f32, 11, i);
    ++seen[std::get<std::int64_t>(softmax.arguments[1]) < 0 ? "axis < 0" : "axis >= 0"];
    const Dtype input = tensors_of(softmax)[0]->dtype;
    ++seen[std::holds_alternative<None>(softmax.arguments[2]) ? "dtype none"
           : input == Dtype::f32                              ? "dtype same"
                                                              : "dtype converts"];

    const Case norm = generate(toys::norm, Dtype::f32, 11, i);
    ++seen[std::holds_alternative<None>(norm.arguments[1]) ? "weight absent" : "weight present"];
    ++seen[std::get<bool>(norm.arguments[3]) ? "true" : "false"];
    ++seen[norm.arguments[2] == CaseValue{1e-5} ? "eps default" : "eps drawn"];

    const Case choice = generate(toys::choice, Dtype::f32, 11, i);
    ++seen["mode " + text(choice.arguments[3])];
    ++seen["way " + text(choice.arguments[4])];
    const bool no_least = std::holds_alternative<None>(choice.arguments[5]);
    const bool no_most = std::holds_alternative<None>(choice.arguments[6]);
    ++seen[no_least ? "most alone" : no_most ? "least alone" : "both bounds"];

    const Case prelu = generate(ops::prelu, Dtype::f32, 11, i);
    const std::int64_t slopes = tensors_of(prelu)[1]->shape[0];
    ++seen[slopes == 1 ? "one slope" : "slopes"];
  }
  EXPECT_EQ(ranks, (std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  for (const char* wanted :
       {"layout contig",    "layout channe", "layout permut",  "layout step2", "layout offset",
        "layout expand",    "layout stride", "dtype f64",      "dtype f32",    "dtype f16",
        "dtype bf16",       "real alpha",    "integer alpha",  "alpha 0",      "alpha < 0",
        "alpha < 1",        "alpha >= 1",    "far alpha",      "same shape",   "self has fewer dimensions",
        "other broadcasts", "axis < 0",      "axis >= 0",      "dtype none",   "dtype same",
        "dtype converts",   "weight absent", "weight present", "true",         "false",
        "eps default",      "eps drawn",     "one slope",      "slopes",       "mode none",
        "mode up",          "way none",      "way left",       "way right",    "both bounds",
        "least alone",      "most alone"})
    EXPECT_GE(seen[wanted], 5) << wanted;
  for (const Family& f : families())
    EXPECT_GE(seen["data " + std::string(f.name)], weight_for(ops::add_tensor, f) > 0 ? 5 : 0) << f.name;
}

TEST(GenerateCases, ShapeRulesWithRunsNumbersAndFunctionsAreReached) {
  std::map<std::string, int> seen;
  toys::all();
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const Case layers = generate(toys::layers, Dtype::f32, 11, i);
    const Shape& input = tensors_of(layers)[0]->shape;
    const auto& list = std::get<std::vector<std::int64_t>>(layers.arguments[1]);
    ASSERT_GE(input.size(), list.size());
    ASSERT_TRUE(std::equal(list.rbegin(), list.rend(), input.rbegin())) << text(layers);
    ++seen[list.size() > 1 ? "layers of several" : "layers of one"];
    ++seen[input.size() > list.size() ? "several layers" : "one layer"];

    const Case groups = generate(toys::groups, Dtype::f32, 11, i);
    const auto channels = std::get<std::int64_t>(groups.arguments[3]);
    const auto group = std::get<std::int64_t>(groups.arguments[5]);
    ASSERT_EQ(channels, tensors_of(groups)[0]->shape[1]);
    ASSERT_TRUE(std::holds_alternative<TensorSpec>(groups.arguments[1])) << text(groups);
    ++seen[group == 1 ? "one group" : group == channels ? "groups of one" : "groups"];

    const Case modes = generate(toys::modes, Dtype::f32, 11, i);
    ++seen[std::get<bool>(modes.arguments[1]) ? "training" : "inference"];

    const Case place = generate(toys::place, Dtype::f32, 11, i);
    ASSERT_TRUE(check_case(place).ok()) << text(place);
    const auto* axes = std::get_if<std::vector<std::int64_t>>(&place.arguments[1]);
    ++seen[axes == nullptr ? "no axes" : axes->empty() ? "axes []" : axes->size() > 1 ? "axes" : "one axis"];
    ++seen[std::get<bool>(place.arguments[2]) ? "kept" : "dropped"];
  }
  for (const char* wanted :
       {"layers of several", "layers of one", "several layers", "one layer", "one group", "groups of one",
        "groups", "training", "inference", "no axes", "axes []", "axes", "one axis", "kept", "dropped"})
    EXPECT_GE(seen[wanted], 5) << wanted;
}

TEST(GenerateCases, LongSumsAreRareAndLong) {
  int found = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Case c = generate(ops::mm, Dtype::f32, 0, i);
    if (c.data != "long") continue;
    ++found;
    EXPECT_GE(tensors_of(c)[0]->shape[1], 8192) << text(c);
  }
  EXPECT_GE(found, 2);
  EXPECT_LE(found, 30);
}

TEST(GenerateCases, OneInAHundredIsWorthAnotherThread) {
  std::map<const Operator*, int> found;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    for (const Operator* op : {&ops::relu, &ops::prelu_backward, &ops::softmax_int}) {
      if (!is_to_be_split(*op, i)) continue;
      ++found[op];
      const Case c = generate(*op, Dtype::f32, 0, i);
      ASSERT_GT(numel(tensors_of(c)[0]->shape), 65'536) << text(c);
      ASSERT_LE(numel(tensors_of(c)[0]->shape), 3 * 65'536) << text(c);
    }
    if (!is_to_be_split(ops::mm, i)) continue;
    ++found[&ops::mm];
    const Case c = generate(ops::mm, Dtype::f32, 0, i);
    const Shape& a = tensors_of(c)[0]->shape;
    const Shape& b = tensors_of(c)[1]->shape;
    ASSERT_TRUE(a[0] * a[1] * b[1] > 2 << 20 || std::max({numel(a), numel(b), a[0] * b[1]}) > 65'536)
        << text(c);
    ASSERT_LE(a[0] * a[1] * b[1], 6 << 20) << text(c);
  }
  EXPECT_EQ(found.size(), 4u);
  for (const auto& [op, times] : found) EXPECT_NEAR(times, 20, 1) << op->schema.name;
}

// A layer that a run has once is there, whatever its number.
TEST(GenerateCases, NoLayerGivesWayToAnotherCase) {
  for (const char* name : {"convolution", "addmm", "avg_pool2d"}) {
    const Operator* const op = find_operator(name);
    std::set<std::string> wanted, met;
    for (const Case& layer : layers_of(*op)) wanted.insert(attributes_of(layer));
    for (std::uint64_t i = 0; i < kUsualRun; ++i) met.insert(attributes_of(generate(*op, Dtype::f32, 3, i)));
    for (const std::string& attributes : wanted) EXPECT_TRUE(met.contains(attributes)) << op->schema.name << " " << attributes;
  }
}

TEST(GenerateCases, OutputsAreNeverExpandedAndFollowTheCaseAlone) {
  std::map<Layout::Kind, int> kinds;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const Case c = generate(ops::add_tensor, Dtype::f32, 2, i);
    const std::vector<Layout> layouts = output_layouts(c);
    ASSERT_EQ(layouts, output_layouts(parse_case(text(c))));
    ++kinds[layouts[0].kind];
    ASSERT_TRUE(without_overlap(check_case(c).outputs[0].shape, layouts[0])) << text(c) << text(layouts[0]);
    Case zero = c;
    zero.seed = 0;
    ASSERT_EQ(output_layouts(zero)[0], Layout{});
  }
  EXPECT_EQ(kinds[Layout::Kind::expanded], 0);
  for (const Layout::Kind kind :
       {Layout::Kind::contiguous, Layout::Kind::channels_last, Layout::Kind::permuted, Layout::Kind::step2,
        Layout::Kind::offset, Layout::Kind::strides})
    EXPECT_GE(kinds[kind], 5) << static_cast<int>(kind);
}

TEST(GenerateCases, IntegerOperatorsGetIntegerFactors) {
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const Case c = generate(toys::whole_numbers, Dtype::i8, 2, i);
    ASSERT_TRUE(std::holds_alternative<std::int64_t>(c.arguments[2])) << text(c);
  }
}

TEST(GenerateCases, RefusesWhatItCannotMake) {
  EXPECT_THROW(generate(ops::mm, Dtype::boolean, 0, 0), std::invalid_argument);
  try {
    generate(toys::without_pattern, Dtype::f32, 0, 0);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("says nothing of other"));
  }
}

}  // namespace
}  // namespace assay
