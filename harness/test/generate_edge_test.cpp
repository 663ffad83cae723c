// The data family "edge": NaN, infinities, and the numbers next to those where something changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "generate_fixture.h"
#include "harness/generate/edge.h"

namespace assay {
namespace {

using toys::call_of;
using toys::values;

// NaN beside NaN, infinity less infinity: what a kernel makes of two of a kind.
TEST(GenerateData, TheEdgeFamilyPutsTheSameNumberIntoBothTensors) {
  std::map<std::string, int> pairs;
  for (int seed = 0; seed < 200; ++seed) {
    const Call call = call_of("add.Tensor:f32:self=40,other=40:data=edge:seed=" + std::to_string(seed));
    const std::vector<double> x = values(call, 0), y = values(call, 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) && std::isnan(y[i])) ++pairs["NaN"];
      if (x[i] == y[i] && std::isinf(x[i])) ++pairs["infinity"];
      if (x[i] == y[i] && std::isfinite(x[i]) && std::fabs(x[i]) > format(Dtype::f32).max / 4)
        ++pairs["largest"];
    }
  }
  for (const char* kind : {"NaN", "infinity", "largest"}) EXPECT_GE(pairs[kind], 10) << kind;
}

TEST(GenerateData, TheEdgeFamilyVisitsEveryKindOfNumber) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const Format& f = format(dtype);
    std::map<std::string, int> seen;
    for (int seed = 20; seed < 80; ++seed)
      for (const double v : values(call_of("relu:" + std::string(name(dtype)) +
                                           ":self=60:data=edge:seed=" + std::to_string(seed)),
                                   0)) {
        ++seen[std::isnan(v) ? "nan" : std::isinf(v) ? (v < 0 ? "-inf" : "+inf") : "finite"];
        if (v == 0) ++seen[std::signbit(v) ? "-0" : "+0"];
        if (v != 0 && std::fabs(v) < f.min_normal) ++seen["subnormal"];
        if (std::fabs(v) == f.max) ++seen["max"];
        if (std::fabs(v) == f.min_normal) ++seen["min normal"];
        if (v == f.min_subnormal) ++seen["kink + ulp"];
        if (v == 1 + 2 * f.unit || v == 1 - f.unit) ++seen["one's neighbour"];
      }
    for (const char* wanted : {"nan", "-inf", "+inf", "finite", "-0", "+0", "subnormal", "max", "min normal",
                               "kink + ulp", "one's neighbour"})
      EXPECT_GE(seen[wanted], 3) << wanted << " " << name(dtype);
  }
}

TEST(GenerateData, EdgeTensorsHaveNaNOfBothSigns) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    bool seen[2] = {};
    for (int seed = 0; seed < 60; ++seed)
      for (const double x :
           values(call_of(std::string("relu:") + dtype + ":self=6x20:data=edge:seed=" + std::to_string(seed)),
                  0))
        if (std::isnan(x)) seen[std::signbit(x) ? 1 : 0] = true;
    EXPECT_TRUE(seen[0] && seen[1]) << dtype;
  }
}

TEST(GenerateData, EdgeTensorsAreNotAllNaN) {
  int free_of_nan = 0, infinite_rows = 0;
  for (int seed = 20; seed < 120; ++seed) {
    const std::vector<double> x =
        values(call_of("relu:f32:self=6x20:data=edge:seed=" + std::to_string(seed)), 0);
    int nan = 0;
    for (const double v : x) nan += std::isnan(v) ? 1 : 0;
    free_of_nan += nan == 0 ? 1 : 0;
    for (std::size_t row = 0; row < 6; ++row) {
      bool all = true;
      for (std::size_t j = 0; j < 20; ++j) all = all && x[row * 20 + j] == -INFINITY;
      infinite_rows += all ? 1 : 0;
    }
  }
  EXPECT_GT(free_of_nan, 40);
  EXPECT_GT(infinite_rows, 3);
}

TEST(GenerateData, NeighboursAreNeighbours) {
  const Format& f = format(Dtype::bf16);
  EXPECT_EQ(next_above(1, f), 1 + 0x1p-7);
  EXPECT_EQ(next_below(1, f), 1 - 0x1p-8);
  EXPECT_EQ(next_above(0, f), f.min_subnormal);
  EXPECT_EQ(next_below(0, f), -f.min_subnormal);
  EXPECT_EQ(next_above(-f.min_subnormal, f), 0);
  EXPECT_EQ(next_above(1, format(Dtype::f64)), std::nextafter(1, 2));
  EXPECT_TRUE(std::isinf(next_above(f.max, f)));
  EXPECT_THAT(edge_values(Dtype::f32, "0, -3.5").kinks,
              ::testing::IsSupersetOf({-3.5, 0.0, 0x1p-149, -3.5 + 0x1p-22}));
}

}  // namespace
}  // namespace assay
