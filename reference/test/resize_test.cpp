// Images made larger and smaller. The expected results are those of PyTorch 1.13.1 on a CPU, but for what it reads after
// an image.
#include <gtest/gtest.h>

#include "calls.h"

namespace assay::testing {
namespace {

struct Resize {
  std::vector<std::int64_t> to;
  bool align_corners = false;
  std::optional<double> scales_w{};
  Dtype dtype = Dtype::f32;
};

std::unique_ptr<Call> bilinear(Shape shape, std::vector<double> x, const Resize& r) {
  auto c = std::make_unique<Call>("upsample_bilinear2d");
  c->tensor(r.dtype, std::move(shape), std::move(x)).integers(r.to).boolean(r.align_corners).none();
  if (r.scales_w)
    c->real(*r.scales_w);
  else
    c->none();
  return c;
}

// Whose places a kernel has exactly, so that there is one result.
void expect(const std::unique_ptr<Call>& c, const std::vector<double>& results) {
  Evaluation& e = c->evaluate();
  ASSERT_EQ(c->values().size(), results.size());
  for (std::size_t n = 0; n < results.size(); ++n) {
    const auto k = static_cast<std::int64_t>(n);
    const Interval i = e.interval(0, k, {});
    if (std::isnan(results[n])) {
      EXPECT_TRUE(std::isnan(c->values()[n]) && i.nan && !i.contains(1)) << n;
      continue;
    }
    EXPECT_EQ(c->values()[n], results[n]) << n;
    EXPECT_EQ(i.lower, results[n]) << n;
    EXPECT_EQ(i.upper, results[n]) << n;
    EXPECT_TRUE(e.truth_inside(0, k, i)) << n;
  }
}

TEST(UpsampleBilinear2d, MeetsPixelsAtTheirCentresOrCorners) {
  const std::vector<double> row{1, 2, 4}, square{0, 8, 16, 64};
  expect(bilinear({1, 1, 1, 3}, row, {{1, 6}}), {1, 1.25, 1.75, 2.5, 3.5, 4});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 5}, true}), {1, 1.5, 2, 3, 4});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 2}, true}), {1, 4});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 1}, true}), {1});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 1}}), {2});
  expect(bilinear({1, 1, 2, 2}, square, {{3, 3}, true}), {0, 4, 8, 8, 22, 36, 16, 40, 64});
  expect(bilinear({1, 1, 2, 2}, square, {{4, 4}}),
         {0, 2, 6, 8, 4, 8.5, 17.5, 22, 12, 21.5, 40.5, 50, 16, 28, 52, 64});
}

// ATen has another way, too, which goes by the sizes there (cases/ops/upsample_nearest2d.h).
TEST(UpsampleNearest2d, GoesByTheScaleWhereTheSizeStaysToo) {
  const auto nearest = [](std::int64_t to, double scale) {
    auto c = std::make_unique<Call>("upsample_nearest2d");
    c->tensor(Dtype::f32, {1, 1, 1, 4}, {1, 2, 3, 4}).integers({1, to}).none().real(scale);
    return c;
  };
  expect(nearest(4, 2.0), {1, 1, 2, 2});
  expect(nearest(4, 0.5), {1, 3, 4, 4});
  expect(nearest(8, 1.0), {1, 2, 3, 4, 4, 4, 4, 4});
  expect(nearest(8, 2.0), {1, 1, 2, 2, 3, 3, 4, 4});
}

TEST(UpsampleBilinear2d, GoesByTheScaleWhereTheSizeChanges) {
  const std::vector<double> row{1, 2, 4};
  expect(bilinear({1, 1, 1, 3}, row, {{1, 4}, false, 2.0}), {1, 1.25, 1.75, 2.5});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 3}, false, 8.0}), {1, 2, 4});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 5}, true, 8.0}), {1, 1.5, 2, 3, 4});
  // After the last pixel the last one counts.
  expect(bilinear({1, 1, 1, 3}, row, {{1, 5}, false, 1.0}), {1, 2, 4, 4, 4});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 2}, false, 0.5}), {1.5, 4});
}

TEST(UpsampleBilinear2d, APixelWithoutAShareCounts) {
  const std::vector<double> row{1, HUGE_VAL, 2};
  expect(bilinear({1, 1, 1, 3}, row, {{1, 6}}), {NAN, NAN, NAN, NAN, NAN, 2});
  expect(bilinear({1, 1, 1, 3}, row, {{1, 3}}), {1, NAN, 2});
}

// A third is none of any format: near a pixel a kernel may stand on either side of it, and the results meet there.
TEST(UpsampleBilinear2d, AdmitsTheRoundingOfThePlace) {
  const std::vector<double> row{0, 1024, -1024, 0};
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const auto c = bilinear({1, 1, 1, 4}, row, {{1, 12}, false, std::nullopt, dtype});
    Evaluation& e = c->evaluate();
    const Interval at_pixel = e.interval(0, 4, {}), between = e.interval(0, 5, {});
    const double unit = dtype == Dtype::f32 ? 0x1p-24 : 0x1p-53;
    EXPECT_LT(at_pixel.lower, 1024);
    EXPECT_GE(at_pixel.lower, 1024 - 32 * 1024 * unit);
    EXPECT_GE(at_pixel.upper, 1024);
    EXPECT_LE(at_pixel.upper, 1024 + 32 * 1024 * unit);
    EXPECT_NEAR(between.lower, 1024.0 / 3, 32 * 1024 * unit);
    EXPECT_NEAR(between.upper, 1024.0 / 3, 32 * 1024 * unit);
  }
  // In bf16 the place itself is off by a good part of a pixel.
  const auto c = bilinear({1, 1, 1, 1000}, std::vector<double>(1000, 1.0),
                          {{1, 3000}, false, std::nullopt, Dtype::bf16});
  const Interval strict = c->evaluate().interval(0, 2000, {});
  const Interval in_bf16 =
      c->evaluate().interval(0, 2000, parse_contract("compute=bf16 -- this test", Dtype::bf16));
  EXPECT_EQ(strict.upper, 1);
  EXPECT_LT(in_bf16.lower, 0.5);
  EXPECT_GT(in_bf16.upper, 1.5);
}

}  // namespace
}  // namespace assay::testing
