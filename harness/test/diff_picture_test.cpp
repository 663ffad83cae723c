// Where elements of a tensor differ, as a picture: diff/picture.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "harness/diff/picture.h"

namespace assay::diff {
namespace {

using ::testing::HasSubstr;

TEST(Picture, ShowsWhereElementsAre) {
  Mask set(6 * 8);
  for (std::uint64_t i = 0; i < 48; ++i)
    if (i % 8 >= 6 || i / 8 == 2) set.set(i);
  const std::string text = to_text(picture({2, 3, 8}, set, 16, 96), "");
  EXPECT_EQ(text,
            "|      ##|\n|      ##|\n|########|\n|      ##|\n|      ##|\n|      ##|\n"
            "down: dimensions 0 to 1 (6); across: dimension 2 (8)\n");
}

TEST(Picture, CellsStandForManyElements) {
  Mask set(100 * 200);
  for (std::uint64_t i = 0; i < set.size(); ++i)
    if (i / 200 < 50 || i % 200 == 199) set.set(i);
  const Picture p = picture({100, 200}, set, 4, 10);
  ASSERT_EQ(p.rows, 4u);
  ASSERT_EQ(p.columns, 10u);
  EXPECT_EQ(p.share[0], 1);
  EXPECT_EQ(p.share[20], 0);
  EXPECT_EQ(p.share[39], 0.05F);
  EXPECT_THAT(to_text(p, "  "), HasSubstr("  |         .|\n"));
}

TEST(Picture, TakesListsScalarsAndEmptyTensors) {
  Mask list(130), one(1);
  list.set(129);
  one.set(0);
  EXPECT_EQ(picture({130}, list, 16, 96).rows, 3u);
  EXPECT_THAT(to_text(picture({}, one, 16, 96), ""), HasSubstr("|#|"));
  EXPECT_EQ(to_text(picture({0, 4}, Mask(0), 16, 96), ""), "");
}

TEST(Picture, IsDrawnAsSvg) {
  Mask set(12);
  set.set(5);
  const std::string svg = to_svg({{"a < b & c", picture({3, 4}, set, 16, 16)}});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_THAT(svg, HasSubstr("a &#60; b &#38; c"));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"1.00\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(to_svg(std::vector<Drawn>{}), HasSubstr("Nothing to draw"));
}

// A whole page would else be a line of dots.
TEST(Picture, FoldsWhatIsTallOrFlat) {
  Mask column(864);
  for (std::uint64_t i = 430; i < 434; ++i) column.set(i);
  const Picture tall = picture({864, 1}, column, 64, 96);
  EXPECT_EQ(tall.columns, 36u);
  EXPECT_EQ(tall.rows, 24u);
  EXPECT_EQ(tall.down, "each 36 of dimension 0");
  EXPECT_EQ(tall.across, "dimension 0");
  for (std::size_t cell = 0; cell < tall.share.size(); ++cell)
    EXPECT_EQ(tall.share[cell], cell >= 430 && cell < 434 ? 1 : 0);

  Mask pairs(2 * 5 * 100 * 3);
  for (std::uint64_t i = 2; i < pairs.size(); i += 3) pairs.set(i);  // the last of each three
  const Picture narrow = picture({2, 5, 100, 3}, pairs, 64, 96);
  EXPECT_EQ(narrow.of_columns, 30u);
  EXPECT_EQ(narrow.of_rows, 100u);
  EXPECT_EQ(narrow.across, "dimensions 0 to 1, and within it dimension 3");
  EXPECT_EQ(narrow.down, "dimension 2");
  for (std::size_t row = 0; row < narrow.rows; ++row)
    for (std::size_t c = 0; c < narrow.columns; ++c)
      EXPECT_EQ(narrow.share[row * narrow.columns + c], c % 3 == 2 ? 1 : 0);

  Mask channel(2 * 6 * 14 * 14);  // of each image the one before the last
  for (std::uint64_t i = 0; i < channel.size(); ++i)
    if (i / 196 % 6 == 4) channel.set(i);
  const Picture images = picture({2, 6, 14, 14}, channel, 64, 96);
  EXPECT_EQ(images.of_columns, 84u);
  EXPECT_EQ(images.of_rows, 28u);
  EXPECT_EQ(images.down, "dimension 0, and within it dimension 2");
  for (std::size_t cell = 0; cell < images.share.size(); ++cell)
    EXPECT_EQ(images.share[cell], cell % 84 / 14 == 4 ? 1 : 0) << cell;

  // As many as fit beside each other, where no dimension has as many.
  const Picture square = picture({1, 32, 1, 56, 56}, Mask(32 * 56 * 56), 64, 96);
  EXPECT_EQ(square.of_columns, 392u);
  EXPECT_EQ(square.of_rows, 280u);
  EXPECT_EQ(square.down, "each 7 of dimensions 0 to 2, and within it dimension 3");

  Mask row(3 * 5000);
  for (std::uint64_t i = 5000; i < 10'000; ++i) row.set(i);
  const Picture flat = picture({3, 5000}, row, 64, 96);
  EXPECT_EQ(flat.of_rows, 63u);
  EXPECT_EQ(flat.of_columns, 239u);
  EXPECT_EQ(flat.down, "dimension 0, in parts of 239 of dimension 1");
  for (std::size_t r = 0; r < flat.rows; ++r)
    EXPECT_EQ(flat.share[r * flat.columns], r >= 21 && r < 42 ? 1 : 0) << r;
  EXPECT_EQ(picture({1, 5000}, Mask(5000), 64, 96).down, "each 88 of dimension 1");

  // Where there is room, nothing is folded, however narrow.
  EXPECT_EQ(picture({60, 1}, Mask(60), 64, 96).rows, 60u);
  EXPECT_EQ(picture({1, 90}, Mask(90), 64, 96).columns, 90u);
}

// However it is folded, each element is in one cell.
TEST(Picture, LosesNoElement) {
  for (const Shape& shape : {Shape{864, 1}, Shape{7, 1000}, Shape{1, 999}, Shape{2000, 3}, Shape{1000, 40},
                             Shape{3, 4, 5}, Shape{2, 6, 14, 14}, Shape{3, 1, 50, 2}, Shape{1000}}) {
    std::uint64_t n = 1;
    for (const auto d : shape) n *= static_cast<std::uint64_t>(d);
    for (std::uint64_t i = 0; i < n; i += n / 7 + 1) {
      Mask one(n);
      one.set(i);
      const Picture p = picture(shape, one, 16, 24);
      EXPECT_LE(p.rows, 16u);
      EXPECT_LE(p.columns, 24u);
      EXPECT_EQ(std::ranges::count_if(p.share, [](float s) { return s > 0; }), 1) << i;
    }
  }
}

}  // namespace
}  // namespace assay::diff
