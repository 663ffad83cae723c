#include "vocabulary/shape.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Shape, ElementsAreCountedInRowMajorOrder) {
  EXPECT_EQ(numel(Shape{}), 1);
  EXPECT_EQ(numel(Shape{3, 0, 5}), 0);
  const Shape shape{2, 1, 3, 4};
  ASSERT_EQ(numel(shape), 24);
  std::int64_t n = 0;
  for (std::int64_t a = 0; a < 2; ++a)
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t d = 0; d < 4; ++d, ++n) {
        EXPECT_EQ(index_of(shape, n), (Shape{a, 0, c, d}));
        EXPECT_EQ(element_at(shape, Shape{a, 0, c, d}), n);
      }
  EXPECT_EQ(index_of(Shape{}, 0), Shape{});
  EXPECT_EQ(element_at(Shape{}, Shape{}), 0);
}

TEST(Shape, HasAText) {
  EXPECT_EQ(text(Shape{2, 3, 4}), "2x3x4");
  EXPECT_EQ(text(Shape{}), "");
}

}  // namespace
}  // namespace assay
