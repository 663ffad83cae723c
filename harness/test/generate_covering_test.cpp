#include "harness/generate/covering.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "generate_fixture.h"
#include "graph/enrol_graph.h"
#include "harness/generate/cases.h"
#include "harness/generate/check_case.h"
#include "harness/generate/factors.h"
#include "harness/generate/met.h"
#include "harness/generate/random.h"
#include "harness/generate/random_case.h"
#include "harness/generate/shapes.h"
#include "harness/generate/universe.h"
#include "harness/generate/wished.h"
#include "ops/convolution.h"
#include "ops/max_pool2d.h"
#include "ops/sum.h"

namespace assay {
namespace {

Factors factors(std::string_view text) { return factors_of(parse_case(text)); }

TEST(Factors, OfAConvolutionAreItsSizesWindowsNumbersAndLayouts) {
  const Factors f = factors(
      "convolution:f32:input=[2x64x17x300]@channels_last,weight=[128x32x3x3],bias=none,stride=[2,2],padding=[1,0],"
      "dilation=[1],transposed=false,output_padding=[0,0],groups=2:data=integers");
  const Factors expected{{"rule", "1"},
                         {"size N", "2-8"},
                         {"size G", "2-8"},
                         {"size C", "beside a vector"},
                         {"size K", "beside a vector"},
                         {"rank *S", "2"},
                         {"size *S", "256-1023"},
                         {"window R", "all 3"},
                         {"stride", "all 2"},
                         {"padding", "that differ"},
                         {"dilation", "all 1"},
                         {"output_padding", "all 0"},
                         {"layout input", "channels_last"},
                         {"layout weight", "contiguous"},
                         {"layout bias", "none"},
                         {"dtypes", "alike"},
                         {"data", "integers"}};
  EXPECT_EQ(f, expected);
}

TEST(Factors, SayHowATensorBroadcastsAndWhatANumberIs) {
  const Factors f = factors("add.Tensor:f32:self=4x1x1024,other=1,alpha=0");
  EXPECT_EQ(f.at("broadcast self"), "as it is");
  EXPECT_EQ(f.at("broadcast other"), "fewer dimensions and ones");
  EXPECT_EQ(f.at("size *"), "from 1024");
  const auto other = [](const std::string& self, const std::string& shape) {
    return factors("add.Tensor:f32:self=" + self + ",other=" + shape).at("broadcast other");
  };
  EXPECT_EQ(other("2x3x4", "2x3x4"), "as it is");
  EXPECT_EQ(other("2x3x4", "3x4"), "fewer dimensions");
  EXPECT_EQ(other("2x3x4", "[]"), "no dimensions");
  EXPECT_EQ(other("2x3x4", "1x3x4"), "the first");
  EXPECT_EQ(other("2x3x4", "2x1x4"), "one between");
  EXPECT_EQ(other("2x3x4", "2x3x1"), "the last");
  EXPECT_EQ(other("1x3x4", "1x1x4"), "the first") << "nothing to step over in front";
  EXPECT_EQ(other("2x3x1", "2x1x1"), "the last");
  EXPECT_EQ(other("2x3x4", "1x1x4"), "several");
  EXPECT_EQ(other("2x3x4", "1x3x1"), "several apart");
  EXPECT_EQ(f.at("alpha"), "0");
  EXPECT_EQ(factors("add.Tensor:f32:self=4,other=4,alpha=1e30").at("alpha"), "huge");
  EXPECT_EQ(factors("softmax.int:f32:self=4x5x6,dim=-3,dtype=none").at("dim"), "first");
  EXPECT_EQ(factors("softmax.int:f32:self=4x5x6,dim=2,dtype=none").at("dim"), "last");
}

TEST(Factors, SizesAreOfOneClassEach) {
  for (const auto& [size, name] : std::map<std::int64_t, std::string_view>{{0, "0"},
                                                                           {1, "1"},
                                                                           {8, "2-8"},
                                                                           {9, "9-63"},
                                                                           {15, "beside a vector"},
                                                                           {33, "beside a vector"},
                                                                           {34, "9-63"},
                                                                           {65, "beside a vector"},
                                                                           {66, "64-255"},
                                                                           {256, "256-1023"},
                                                                           {1 << 20, "from 1024"}})
    EXPECT_EQ(size_class(size), name) << size;
}

TEST(Wished, ACaseHasWhatIsWishedFor) {
  const Factors wish{
      {"size K", "from 1024"}, {"size M", "beside a vector"}, {"layout mat2", "permuted"}, {"data", "edge"}};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Draw draw(seed);
    const std::optional<Case> c =
        wished_case(draw, ops::mm, Dtype::f32, shape_rule(ops::mm).alternatives[0], wish, {1 << 18, 4 << 20});
    ASSERT_TRUE(c);
    const Factors f = factors_of(*c);
    for (const auto& [factor, value] : wish) EXPECT_EQ(f.at(factor), value) << text(*c);
  }
}

TEST(Wished, ATensorBroadcastsAsIsWishedFor) {
  for (const char* how : {"as it is", "no dimensions", "fewer dimensions", "fewer dimensions and ones",
                          "the first", "the last", "one between", "several", "several apart"}) {
    int had = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Draw draw(seed);
      const auto& alternative = shape_rule(ops::add_tensor).alternatives[0];
      const std::optional<Case> c = wished_case(draw, ops::add_tensor, Dtype::f32, alternative,
                                                {{"broadcast other", how}}, {1 << 14, 1 << 14});
      ASSERT_TRUE(c) << how;
      had += factors_of(*c).at("broadcast other") == how ? 1 : 0;
    }
    EXPECT_GE(had, 15) << how << ": self is stretched along the same dimension now and then";
  }
}

TEST(Wished, SizesBeyondTheBudgetAreRefused) {
  Draw draw(1);
  const Factors wish{{"size K", "from 1024"}, {"size M", "from 1024"}};
  EXPECT_FALSE(may_fit(shape_rule(ops::mm).alternatives[0], wish, {4096, 300'000}));
  EXPECT_FALSE(
      wished_case(draw, ops::mm, Dtype::f32, shape_rule(ops::mm).alternatives[0], wish, {4096, 300'000}));
}

// An image that grows to hold its window counts.
TEST(Wished, ImagesWithTheirWindowsStayWithinTheBudget) {
  const SizeBudget budget{1 << 14, 1 << 15};
  int made = 0;
  for (const ShapeAlternative& alternative : shape_rule(ops::convolution).alternatives)
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Draw draw(seed);
      const Factors wish{{"size N", "256-1023"}, {"size C", "9-63"}};
      const std::optional<ShapeBinding> binding = draw_wished_binding(draw, alternative, wish, budget);
      if (!binding) continue;
      ++made;
      EXPECT_TRUE(fits(alternative, *binding, budget)) << seed;
    }
  EXPECT_GE(made, 100);
}

TEST(Covering, EveryCaseIsAllowedAndWhatItIsDependsOnNothingElse) {
  toys::each_row([](const Operator& op, Dtype dtype) {
    std::vector<Case> forwards;
    const std::uint64_t many = effort<std::uint64_t>(kCoveringBlock + 4, 12);
    for (std::uint64_t i = 0; i < many; ++i) {
      forwards.push_back(covering_case(op, dtype, 3, i));
      const Checked checked = check_case(forwards.back());
      ASSERT_TRUE(checked.ok()) << text(forwards.back()) << ": " << checked.error;
      ASSERT_EQ(checked.outputs[0].computed_in, dtype) << text(forwards.back());
    }
    EXPECT_EQ(covering_case(op, dtype, 3, many - 1), forwards.back());
  });
}

// Two tensors that broadcast as they like: of some cases, no alternative of a rule of shapes is the one.
TEST(Covering, AGraphsCasesNeedNotFollowARuleOfShapes) {
  const Operator& op = enrol_graph_alone(
      "assay::silu_gradient(Tensor grad_output, Tensor self) -> Tensor { s = sigmoid(self)\n"
      " grad_output * s * (1 + self * (1 - s)) }");
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_TRUE(check_case(generate(op, Dtype::f32, 0, i)).ok()) << i;
}

TEST(Covering, GivesTheSameToManyThreads) {
  std::vector<std::string> got(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < got.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 40; ++i)
        got[t] += text(covering_case(ops::mm, Dtype::f32, 9 + t % 2, i * 7)) + "\n";
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 2; t < got.size(); ++t) EXPECT_EQ(got[t], got[t % 2]);
  EXPECT_NE(got[0], got[1]);
}

using Met = std::set<std::string>;

void meet(const Case& c, Met& met) {
  const Factors f = factors_of(c);
  for (auto a = f.begin(); a != f.end(); ++a)
    for (auto b = std::next(a); b != f.end(); ++b)
      if (a->first != "data" && b->first != "data" && a->second != "0" && b->second != "0")
        met.insert(a->first + a->second + b->first + b->second);
}

// Of the pairs that two thousand drawn cases show, and of more that they don't, half of an array has what drawn cases of that number have
// not. Not of the first one, which leaves out what other cases of the run bring together.
TEST(Covering, AnArrayBringsTogetherWhatIsSeldomDrawnTogether) {
  for (const Operator* op : {&ops::mm, &ops::prelu, &ops::add_tensor}) {
    Met all, covered, drawn;
    for (std::uint64_t i = 0; i < 2000; ++i)
      if (const Case c = random_case(*op, Dtype::f32, mix(5, i), false); check_case(c).ok()) {
        meet(c, all);
        if (i < kCoveringBlock / 2) meet(c, drawn);
      }
    for (std::uint64_t i = 0; i < kCoveringBlock / 2; ++i)
      meet(covering_case(*op, Dtype::f32, 5, kCoveringBlock + i), covered);
    Met of_all;
    for (const std::string& pair : covered)
      if (all.contains(pair)) of_all.insert(pair);
    EXPECT_GT(static_cast<double>(of_all.size()), 0.7 * static_cast<double>(all.size())) << op->schema.name;
    EXPECT_GT(static_cast<double>(covered.size()), 1.3 * static_cast<double>(drawn.size()))
        << op->schema.name;
  }
}

// Of the pairs and triples of values that a run of the usual length is to bring together, the share that it does. Some of all cannot be:
// a layout that no tensor of so few elements has, sizes that are beyond any budget together.
struct Shares {
  double pairs = 0, triples = 0;
};

Shares shares_of_a_usual_run(const Operator& op, std::uint64_t seed) {
  const std::vector<Universe>& universes = universes_of(op, Dtype::f32);
  std::vector<Pairs> pairs;
  std::vector<Triples> triples;
  for (const Universe& u : universes) {
    pairs.emplace_back(u);
    triples.emplace_back(u);
  }
  const auto open = [&] {
    Shares all;
    for (std::size_t a = 0; a < universes.size(); ++a) {
      std::vector<std::size_t> each(universes[a].values.size());
      std::iota(each.begin(), each.end(), std::size_t{0});
      all.pairs += static_cast<double>(pairs[a].would_be_new(each));
      all.triples += static_cast<double>(triples[a].would_be_new(each));
    }
    return all;
  };
  const Shares wanted = open();
  for (std::uint64_t i = 0; i < kUsualRun; ++i) {
    const Case c = generate(op, Dtype::f32, seed, i);
    const auto a = static_cast<std::size_t>(match_case(c).alternative);
    const std::vector<std::size_t> values = universes[a].numbers(factors_of(c));
    pairs[a].take(values);
    triples[a].take(values);
  }
  const Shares left = open();
  return {1 - left.pairs / wanted.pairs, 1 - left.triples / wanted.triples};
}

// covering.h and README.md have these figures.
TEST(Covering, ARunOfTheUsualLengthBringsPairsAndTriplesTogether) {
  struct Least {
    const Operator* op;
    Shares shares;
  };
  for (const Least& least :
       {Least{&ops::relu, {0.84, 0.62}}, Least{&ops::add_tensor, {0.74, 0.26}}, Least{&ops::mm, {0.95, 0.58}},
        Least{&ops::softmax_int, {0.90, 0.70}}, Least{&ops::sum_dim_int_list, {0.92, 0.66}},
        Least{&ops::max_pool2d, {0.70, 0.26}}, Least{&ops::convolution, {0.61, 0.21}}})
    for (const std::uint64_t seed : {0, 1}) {
      const Shares shares = shares_of_a_usual_run(*least.op, seed);
      EXPECT_GE(shares.pairs, least.shares.pairs) << least.op->schema.name << " at seed " << seed;
      EXPECT_GE(shares.triples, least.shares.triples) << least.op->schema.name << " at seed " << seed;
    }
}

TEST(Covering, ARunOfTheUsualLengthHasHundredsBesideEachStride) {
  std::set<std::string> strides;
  for (std::uint64_t i = 0; i < 250; ++i) {
    const Factors f = factors_of(generate(ops::convolution, Dtype::f32, 0, i));
    if (f.at("size *S") == "256-1023" || f.at("size C") == "256-1023") strides.insert(f.at("stride"));
  }
  for (const char* stride : {"all 1", "all 2"}) EXPECT_TRUE(strides.contains(stride)) << stride;
}

}  // namespace
}  // namespace assay
