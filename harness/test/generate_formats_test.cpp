// Memory formats, scales and zero points of generated cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "generate_fixture.h"
#include "harness/generate/cases.h"
#include "harness/generate/layouts.h"

namespace assay {
namespace {

TEST(GenerateFormats, EachIsDrawnAndHalfOfTheResultsFollowIt) {
  toys::all();
  std::map<MemoryFormat, int> drawn, followed;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Case c = generate(toys::copy, Dtype::i16, 3, i);
    const auto* format = std::get_if<MemoryFormat>(&c.arguments[1]);
    if (format == nullptr) continue;
    ++drawn[*format];
    const Layout layout = output_layouts(c)[0];
    followed[*format] += rank_of(*format) != 0 ? layout.kind == Layout::Kind::channels_last
                                               : layout.kind == Layout::Kind::contiguous;
  }
  EXPECT_EQ(drawn.size(), 4u);
  for (const MemoryFormat f :
       {MemoryFormat::channels_last, MemoryFormat::channels_last_3d, MemoryFormat::contiguous_format}) {
    EXPECT_GE(drawn[f], 50) << name(f);
    EXPECT_GE(followed[f], drawn[f] * 2 / 5) << name(f);
    EXPECT_LT(followed[f], drawn[f]) << name(f);
  }
}

TEST(GenerateFormats, ZeroPointsReachBothEndsAndScalesArePositive) {
  toys::all();
  std::set<std::int64_t> zero_points;
  std::set<double> scales;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Case c = generate(toys::steps, Dtype::i8, 3, i);
    scales.insert(std::get<double>(c.arguments[1]));
    zero_points.insert(std::get<std::int64_t>(c.arguments[2]));
    EXPECT_EQ(std::get<TensorSpec>(c.arguments[0]).dtype, Dtype::f32);
    EXPECT_EQ(std::get<Dtype>(c.arguments[3]), Dtype::i8);
  }
  EXPECT_EQ(*zero_points.begin(), -128);
  EXPECT_EQ(*zero_points.rbegin(), 127);
  EXPECT_GT(*scales.begin(), 0);
  EXPECT_GE(scales.size(), 8u);
}

}  // namespace
}  // namespace assay
