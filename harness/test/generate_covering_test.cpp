#include "harness/generate/covering.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "generate_fixture.h"
#include "harness/generate/cases.h"
#include "harness/generate/check_case.h"
#include "harness/generate/factors.h"
#include "harness/generate/random.h"
#include "harness/generate/random_case.h"
#include "harness/generate/wished.h"
#include "ops/convolution.h"

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

TEST(Wished, SizesBeyondTheBudgetAreRefused) {
  Draw draw(1);
  const Factors wish{{"size K", "from 1024"}, {"size M", "from 1024"}};
  EXPECT_FALSE(may_fit(shape_rule(ops::mm).alternatives[0], wish, {4096, 300'000}));
  EXPECT_FALSE(
      wished_case(draw, ops::mm, Dtype::f32, shape_rule(ops::mm).alternatives[0], wish, {4096, 300'000}));
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

// Of the pairs that two thousand drawn cases show, and of more that they don't, one array has what nine of its size in drawn
// cases have not.
TEST(Covering, AnArrayBringsTogetherWhatIsSeldomDrawnTogether) {
  for (const Operator* op : {&ops::mm, &ops::prelu, &ops::add_tensor}) {
    Met all, covered, drawn;
    for (std::uint64_t i = 0; i < 2000; ++i)
      if (const Case c = random_case(*op, Dtype::f32, mix(5, i), false); check_case(c).ok()) {
        meet(c, all);
        if (i < kCoveringBlock) meet(c, drawn);
      }
    for (std::uint64_t i = 0; i < kCoveringBlock; ++i) meet(covering_case(*op, Dtype::f32, 5, i), covered);
    Met of_all;
    for (const std::string& pair : covered)
      if (all.contains(pair)) of_all.insert(pair);
    EXPECT_GT(static_cast<double>(of_all.size()), 0.8 * static_cast<double>(all.size())) << op->schema.name;
    EXPECT_GT(static_cast<double>(covered.size()), 1.3 * static_cast<double>(drawn.size()))
        << op->schema.name;
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
