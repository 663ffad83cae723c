// The pictures of a page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "bench_sample.h"
#include "report_sample.h"
#include "reports/svg_bounds.h"
#include "reports/svg_forest.h"
#include "reports/svg_picture.h"
#include "reports/svg_roofline.h"
#include "reports/svg_sparkline.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Charts, PictureHasARectangleForNeighboursOfOneShade) {
  const std::string figure =
      picture_figure({"out", 3, 8, 2, 4, {0, 1, 1, 0, 0, 0, 0, 0.5F}, 2, 4, "dimension 0", "dimension 1"});
  EXPECT_THAT(figure, HasSubstr("d=\"M1 0h2v1H1z\""));
  EXPECT_THAT(figure, HasSubstr("d=\"M3 1h1v1H3z\""));
  EXPECT_THAT(figure,
              HasSubstr("out: 3 of 8 elements diverge. Across: dimension 1 (4). Down: dimension 0 (2)."));
  EXPECT_THAT(picture_figure({}), IsEmpty());
}

TEST(Charts, BoundsAreOnTheirSideOfOne) {
  RunResult run;
  for (const double worst : {0.0, 1.0, 1.01, HUGE_VAL, std::nan("")}) {
    Row row = row_of("op", "cpu", "f32", {{Verdict::pass, 1}});
    row.elements = 1;
    row.worst = worst;
    run.rows.push_back(row);
  }
  const std::string chart = bounds_chart(run);
  EXPECT_EQ(occurrences(chart, "class=\"bar over\""), 2u)
      << "above 1 in one bar, infinite and NaN in another";
  EXPECT_EQ(occurrences(chart, "class=\"bar\""), 2u);
  EXPECT_THAT(bounds_chart(RunResult{}), IsEmpty());
}

TEST(Charts, AreWholeForAnyNumbers) {
  BenchmarkFile file = bench_from_json(kBenchSample, "b.json");
  EXPECT_EQ(occurrences(roofline_chart(file), "class=\"dot\""), 4u) << "three of them in the key";
  EXPECT_EQ(occurrences(roofline_chart(file), "class=\"ceiling"), 2u);
  file.limits.clear();
  EXPECT_EQ(occurrences(roofline_chart(file), "class=\"ceiling"), 0u);
  file.rows[0].operations = 0;
  EXPECT_THAT(roofline_chart(file), HasSubstr("Kernels that do no arithmetic"));
  file.rows.clear();
  EXPECT_THAT(roofline_chart(file), IsEmpty());
  for (const double value : {0.0, -1.0, 1e-300, 1e300, HUGE_VAL, std::nan("")}) {
    const std::string chart =
        forest_chart({{"label", "", {value, value, value}, "none", "same"}}, "time", 0.03);
    EXPECT_THAT(chart, Not(HasSubstr("nan"))) << value;
    EXPECT_THAT(chart, HasSubstr("label"));
    const std::string line =
        sparkline({"op", "c", "k", "", "", 1, {{"a", 0, value, value}, {"b", 1, 1, 1}}, {{1, value, 1}}});
    EXPECT_THAT(line, Not(HasSubstr("\"nan"))) << value;
  }
  EXPECT_THAT(sparkline({}), IsEmpty());
}

// 1,200 pixels less the margins and a scroll bar; what is wider loses the last letters of its verdicts.
TEST(Charts, AForestFitsThePage) {
  const std::string chart = forest_chart({{"label", "", {1, 0.9, 1.1}, "none", "same"}}, "time", 0.03);
  std::smatch width;
  ASSERT_TRUE(std::regex_search(chart, width, std::regex(" width=\"([0-9.]+)\" height=\"[0-9.]+\" role")));
  EXPECT_LE(std::stod(width[1]), 1200 - 2 * 24 - 16);
}

}  // namespace
}  // namespace assay
