// Kinds of calls that fast paths are for, and whether a run has some of each.
#include "../generate/paths.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../generate/cases.h"
#include "../generate/layers.h"
#include "vocabulary/operators.h"

namespace assay::test {
namespace {

Path path(const Operator& op, const std::string& name) {
  for (Path& p : paths_of(op, {}))
    if (p.name == name) return std::move(p);
  ADD_FAILURE() << "no path " << name;
  return {};
}

std::string convolution(const std::string& input, const std::string& weight, const std::string& rest) {
  return "convolution:f32:input=" + input + ",weight=" + weight + ",bias=none," + rest +
         ",transposed=false,output_padding=[0,0]";
}

TEST(Paths, AreSetsOfAttributesThatLayersHave) {
  const Path p =
      path(operator_named("convolution"),
           "stride 1,1 padding 1,1 dilation 1,1 transposed false output_padding 0,0 groups 1 window 3,3 4 "
           "dimensions");
  const std::string rest = "stride=[1,1],padding=[1,1],dilation=[1,1]";
  EXPECT_TRUE(p.takes(parse_case(convolution("2x3x9x8", "4x3x3x3", rest + ",groups=1"))));
  EXPECT_FALSE(p.takes(parse_case(convolution("2x3x9x8", "4x3x3x2", rest + ",groups=1"))))
      << "another window";
  EXPECT_FALSE(p.takes(parse_case(convolution("2x4x9x8", "4x2x3x3", rest + ",groups=2")))) << "groups";
  EXPECT_FALSE(p.takes(
      parse_case(convolution("2x3x9x8", "4x3x3x3", "stride=[2,1],padding=[1,1],dilation=[1,1],groups=1"))))
      << "another stride";
}

TEST(Paths, AreSizesFromWhichOnKernelsChange) {
  const Path elements = path(operator_named("relu"), "results of 262144 elements and more");
  EXPECT_TRUE(elements.takes(parse_case("relu:f32:self=512x512")));
  EXPECT_FALSE(elements.takes(parse_case("relu:f32:self=512x511")));
  const Path all = path(operator_named("mm"), "all sizes from 128 on");
  EXPECT_TRUE(all.takes(parse_case("mm:f32:self=128x129,mat2=129x200")));
  EXPECT_FALSE(all.takes(parse_case("mm:f32:self=128x127,mat2=127x200")));
}

TEST(Paths, AreClassesOfOrdinaryCalls) {
  const std::vector<std::string> classes = ordinary_classes(operator_named("convolution"));
  for (const char* name : {"groups above 1", "window all 3", "layout channels_last"})
    EXPECT_EQ(std::ranges::count(classes, name), name == std::string("layout channels_last") ? 0 : 1) << name;
  EXPECT_TRUE(std::ranges::none_of(classes, [](const std::string& s) { return s.starts_with("data "); }));
}

// An argument that a layer leaves out although the shape rule knows it.
TEST(Paths, GradientsOfConvolutionsWithoutABiasAreDrawn) {
  const Path p = path(operator_named("convolution_backward"), "bias_sizes none");
  int taken = 0;
  for (std::uint64_t i = 0; i < 250; ++i)
    taken += p.takes(generate(operator_named("convolution_backward"), Dtype::f32, 0, i)) ? 1 : 0;
  EXPECT_GT(taken, 5);
}

// Whichever number of layers an operator has: with four of them none was ever large.
TEST(Paths, EachLayerIsLargeNowAndThen) {
  for (const Operator* op : operators()) {
    const std::size_t layers = layers_of(*op).size();
    if (layers == 0 || layers > 12) continue;
    std::vector<Path> large;
    for (Path& p : paths_of(*op, Dtype::f32))
      if (p.name.starts_with("results of ")) large.push_back(std::move(p));
    for (const Path& p : large) {
      bool taken = false;
      for (std::uint64_t i = 0; i < 250 && !taken; ++i) taken = p.takes(generate(*op, Dtype::f32, 7, i));
      EXPECT_TRUE(taken) << op->schema.name << ": " << p.name;
    }
  }
}

}  // namespace
}  // namespace assay::test
