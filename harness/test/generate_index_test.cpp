// Tensors of indices: rows that their table has, or places of a plane, and, where a case is an error, one that it has not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "generate_fixture.h"
#include "harness/generate/data.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using toys::call_of;
using toys::values;

TEST(GenerateIndex, IndicesAreRowsThatTheTableHas) {
  std::set<double> seen;
  for (const Family& f : families()) {
    const std::string family(f.name);
    if (family == kPastEnd || family == kNegativeIndex) continue;
    for (const char* dtype : {"i64", "i32"}) {
      const Call call =
          call_of(fmt::format("toy_table:weight=f32[7x2],indices={}[5x8]:data={}:seed=20", dtype, family));
      ASSERT_TRUE(call.error.empty()) << call.error;
      for (const double row : values(call, 1)) {
        ASSERT_TRUE(row >= 0 && row < 7 && row == std::nearbyint(row)) << family << " " << row;
        seen.insert(row);
      }
    }
  }
  EXPECT_EQ(seen.size(), 7u);
}

TEST(GenerateIndex, OneIndexIsOutOfRangeWhereAFamilySaysSo) {
  const Call past = call_of("toy_table:f32:weight=7x2,indices=5x8:data=past_end:seed=20");
  EXPECT_EQ(past.blamed, "indices");
  EXPECT_EQ(past.error, "toy_table: indices has the index 7, but weight has 7 rows: it must be from 0 to 6");
  EXPECT_TRUE(past.outputs.empty());
  std::vector<double> indices = values(past, 1);
  EXPECT_EQ(std::ranges::count(indices, 7.0), 1);
  EXPECT_EQ(std::ranges::count_if(indices, [](double row) { return row < 0 || row > 6; }), 1);
  const Call below = call_of("toy_table:f32:weight=7x2,indices=5x8:data=negative_index:seed=20");
  EXPECT_THAT(below.error, HasSubstr("indices has the index -1"));
  indices = values(below, 1);
  EXPECT_EQ(std::ranges::count(indices, -1.0), 1);
}

TEST(GenerateIndex, DivisorsOfIntegersAreNotZero) {
  for (const Family& f : families()) {
    const bool refused = f.name == kZeroDivisor;
    for (const char* dtypes :
         {"self=i8[4x9],other=i8[4x9]", "self=u8[4x9],other=i64[]", "self=i64[9],other=i16[2x9]"})
      for (int seed = 0; seed < 20; ++seed) {
        const Call call = call_of(
            fmt::format("div.Tensor_mode:{},rounding_mode=floor:data={}:seed={}", dtypes, f.name, seed));
        if (!refused) {
          ASSERT_TRUE(call.error.empty()) << call.error;
        } else {
          EXPECT_EQ(call.blamed, "other");
          EXPECT_THAT(call.error, HasSubstr("has an element 0"));
          EXPECT_EQ(std::ranges::count(values(call, 1), 0.0), 1);
        }
      }
  }
  // Numbers are divided by it.
  EXPECT_TRUE(call_of("div.Tensor_mode:f32:self=3,other=3,rounding_mode=none:data=zero_divisor:seed=1")
                  .error.empty());
}

TEST(GenerateIndex, PlacesAreElementsOfOnePlane) {
  std::set<double> seen;
  for (const Family& f : families()) {
    const std::string family(f.name);
    if (family == kPastEnd || family == kNegativeIndex) continue;
    const Call call = call_of(fmt::format("toy_planes:f32:self=5x3x2,places=5x3x2:data={}:seed=20", family));
    ASSERT_TRUE(call.error.empty()) << call.error;
    for (const double place : values(call, 1)) {
      ASSERT_TRUE(place >= 0 && place < 6 && place == std::nearbyint(place)) << family << " " << place;
      seen.insert(place);
    }
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(call_of("toy_planes:f32:self=5x3x2,places=5x3x2:data=past_end:seed=20").error,
            "toy_planes: places has the index 6, but a plane of self has 6 places: it must be from 0 to 5");
}

}  // namespace
}  // namespace assay
