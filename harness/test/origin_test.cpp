#include "harness/trace/origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/trace/known.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

TEST(Origin, IsReadFromItsText) {
  const auto whole = parse_origin("12:out");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->call, 12u);
  EXPECT_EQ(whole->result, "out");
  EXPECT_FALSE(whole->strides);
  const auto part = parse_origin("3:out1@offset(2)@strides(1,7)");
  ASSERT_TRUE(part && part->strides);
  EXPECT_EQ(part->result, "out1");
  EXPECT_EQ(part->offset, 2);
  EXPECT_THAT(*part->strides, ElementsAre(1, 7));
  const auto scalar = parse_origin("3:out@offset(5)@strides()");
  ASSERT_TRUE(scalar && scalar->strides);
  EXPECT_TRUE(scalar->strides->empty());
}

TEST(Origin, OfAnythingElseIsNone) {
  for (const char* text :
       {"", ":", "x:out", "-1:out", "1", "1:out@offset(2)", "1:out@strides(1)@offset(x)",
        "1:out@offset(2)@strides(1,", "1:out@offset(2)@strides(1,x)", "1:out@offset@strides",
        "99999999999999999999:out", "1:out@offset(99999999999999999999)@strides(1)"})
    EXPECT_FALSE(parse_origin(text)) << text;
}

TEST(Origin, OfACallThatWasNotRecordedIsWhatItWasMadeFrom) {
  const auto through = parse_through("sin(3:out,5:out0@offset(1)@strides(2))");
  EXPECT_FALSE(parse_through("sin(3:out"));
  ASSERT_TRUE(through);
  EXPECT_EQ(through->op, "sin");
  ASSERT_EQ(through->from.size(), 2u);
  EXPECT_EQ(through->from[0].call, 3u);
  EXPECT_EQ(through->from[1].offset, 1);
  for (const char* text : {"", "sin", "sin()", "sin(x)", "sin(3:out,)", "sin(3:out,x)", "(", ")", "sin)("})
    EXPECT_FALSE(parse_through(text)) << text;
  const auto part = parse_part("offset(10)@strides(1,7)");
  ASSERT_TRUE(part && part->strides);
  EXPECT_EQ(part->offset, 10);
  EXPECT_FALSE(parse_part("strides(1)"));
}

TEST(Origin, ViewsAreReadWithinTheirTensorOnly) {
  TensorData whole(Dtype::f32, {2, 3});
  for (std::int64_t i = 0; i < 6; ++i) whole.set(i, static_cast<double>(i));
  const auto transposed = view_of(whole, {0, "out", 0, Shape{1, 3}}, {3, 2});
  ASSERT_TRUE(transposed);
  EXPECT_EQ(transposed->get(1), 3);
  EXPECT_EQ(transposed->get(2), 1);
  EXPECT_EQ(view_of(whole, {0, "out", 0, std::nullopt}, {2, 3})->get(5), 5);
  EXPECT_FALSE(view_of(whole, {0, "out", 0, std::nullopt}, {3, 2}));
  EXPECT_FALSE(view_of(whole, {0, "out", 1, Shape{1, 3}}, {3, 2}));
  EXPECT_FALSE(view_of(whole, {0, "out", -1, Shape{1}}, {2}));
  EXPECT_FALSE(view_of(whole, {0, "out", 0, Shape{1}}, {3, 2}));
  EXPECT_FALSE(view_of(whole, {0, "out", 0, Shape{INT64_MAX, INT64_MAX}}, {3, 2}));
}

TEST(Origin, PlacesAreThoseThatAViewHas) {
  TensorData whole(Dtype::f32, {40});
  for (std::int64_t i = 0; i < 40; ++i) whole.set(i, static_cast<double>(i));
  const auto expect_same = [&](std::int64_t offset, const Shape& strides, const Shape& shape) {
    const Origin part{0, "out", offset, strides};
    std::vector<double> places, numbers;
    const auto view = view_of(whole, part, shape);
    EXPECT_EQ(for_each_place(part, shape, 40,
                             [&](std::int64_t i, std::int64_t at) {
                               EXPECT_EQ(i, static_cast<std::int64_t>(places.size()));
                               places.push_back(static_cast<double>(at));
                             }),
              view.has_value());
    for (std::int64_t i = 0; view && i < view->numel(); ++i) numbers.push_back(view->get(i));
    EXPECT_EQ(places, numbers) << "of " << text(shape) << " by " << text(strides) << " from " << offset;
  };
  expect_same(0, {20, 5, 1}, {2, 4, 5});
  expect_same(3, {1, 7}, {4, 5});
  expect_same(39, {-1}, {40});
  expect_same(39, {-1}, {41});
  expect_same(0, {-1, 8}, {2, 5});
  expect_same(7, {-1, 8}, {8, 5});
  expect_same(5, {0, 2}, {3, 4});
  expect_same(39, {}, {});
  expect_same(40, {}, {});
  expect_same(90, {1, 1}, {0, 3});
  expect_same(0, {INT64_MAX, 1}, {1, 40});
  expect_same(0, {INT64_MAX, 1}, {3, 2});
  expect_same(INT64_MAX, {1}, {2});
  expect_same(0, {1}, {2, 3});
  const auto none = [](std::int64_t, std::int64_t) { ADD_FAILURE(); };
  EXPECT_FALSE(for_each_place({0, "out", 0, std::nullopt}, {5, 8}, 40, none));
  EXPECT_FALSE(for_each_place({0, "out", 0, std::nullopt}, {39}, 40, none));
  EXPECT_FALSE(for_each_place({0, "out", 0, std::nullopt}, {}, 40, none));
}

// Takes no memory for the whole: there is none that is as large.
TEST(Origin, PlacesAreCountedInTheirPartAlone) {
  std::vector<std::int64_t> places;
  EXPECT_TRUE(for_each_place({0, "out", INT64_MAX - 9, Shape{4}}, {3}, INT64_MAX,
                             [&](std::int64_t, std::int64_t at) { places.push_back(at); }));
  EXPECT_THAT(places, ElementsAre(INT64_MAX - 9, INT64_MAX - 5, INT64_MAX - 1));
}

}  // namespace
}  // namespace assay
