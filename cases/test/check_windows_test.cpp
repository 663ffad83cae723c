// What the check computes of images: windows that go over them, and planes that are resized.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "given.h"
#include "ops/convolution.h"
#include "ops/max_pool2d.h"
#include "ops/upsample_nearest2d.h"
#include "vocabulary/check.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// The numbers after the tensors, for an image of two dimensions.
struct Window {
  std::vector<std::int64_t> stride{1}, padding{0}, dilation{1};
  bool transposed = false;
  std::vector<std::int64_t> output_padding{0};
  std::int64_t groups = 1;
};
Checked convolve(Shape input, Shape weight, const Window& w, Shape bias = {}) {
  Given given;
  given.tensor(Dtype::f32, std::move(input)).tensor(Dtype::f32, std::move(weight));
  if (bias.empty())
    given.none();
  else
    given.tensor(Dtype::f32, std::move(bias));
  return given.integers(w.stride)
      .integers(w.padding)
      .integers(w.dilation)
      .boolean(w.transposed)
      .integers(w.output_padding)
      .integer(w.groups)
      .check(ops::convolution);
}

TEST(Check, ComputesWhatAConvolutionLeaves) {
  const auto shape = [](const Checked& c) { return c.ok() ? c.outputs[0].shape : Shape{}; };
  EXPECT_EQ(shape(convolve({2, 6, 8, 9}, {4, 6, 3, 2}, {})), (Shape{2, 4, 6, 8}));
  EXPECT_EQ(
      shape(convolve({2, 6, 8, 9}, {4, 3, 3, 2}, {.stride = {2, 3}, .padding = {1, 0}, .groups = 2}, {4})),
      (Shape{2, 4, 4, 3}));
  EXPECT_EQ(shape(convolve({1, 1, 7}, {1, 1, 3}, {.dilation = {3}})), (Shape{1, 1, 1}));
  EXPECT_EQ(shape(convolve({1, 1, 3}, {1, 1, 5}, {.padding = {1}})), (Shape{1, 1, 1}));
  EXPECT_EQ(
      shape(convolve({2, 6, 4, 5}, {6, 2, 3, 3},
                     {.stride = {2}, .padding = {1}, .transposed = true, .output_padding = {1}, .groups = 3},
                     {6})),
      (Shape{2, 6, 8, 10}));
  EXPECT_EQ(shape(convolve({0, 2, 4}, {3, 2, 1}, {})), (Shape{0, 3, 4}));
  // 2^80 channels, which is no number of 64 bits: the largest that is, which no memory holds.
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  const Window many{.transposed = true, .groups = kMany};
  EXPECT_THAT(convolve({1, kMany, 4}, {kMany, kMany, 1}, many, {1}).error,
              HasSubstr("dimension 0 must be 9223372036854775807"));
}

TEST(Check, SaysWhatIsWrongWithAConvolution) {
  const auto error = [](const Checked& c) { return c.argument + " | " + c.error; };
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {4, 5, 3, 2}, {})),
              HasSubstr("weight | convolution: weight has shape [4x5x3x2], but dimension 1 must be 6"));
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {4, 6, 3}, {})), HasSubstr("must have 4 dimensions"));
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {4, 6, 3, 2}, {.groups = 0})),
              HasSubstr("groups | convolution: groups is 0, but must be positive"));
  EXPECT_THAT(
      error(convolve({2, 5, 8, 9}, {4, 2, 3, 2}, {.groups = 2})),
      HasSubstr("input has shape [2x5x8x9], but dimension 1 must be a multiple of groups, which is 2"));
  EXPECT_THAT(
      error(convolve({2, 6, 8, 9}, {5, 3, 3, 2}, {.groups = 2})),
      HasSubstr("weight has shape [5x3x3x2], but dimension 0 must be a multiple of groups, which is 2"));
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {4, 3, 3, 2}, {.groups = 2}, {3})),
              HasSubstr("bias | convolution: bias has shape [3], but dimension 0 must be 4"));
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {4, 6, 3, 2}, {.stride = {1, 0}})),
              HasSubstr("stride | convolution: stride is [1,0], but must be positive"));
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {4, 6, 3, 2}, {.padding = {-1}})),
              HasSubstr("padding is [-1], but must not be negative"));
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {4, 6, 3, 2}, {.dilation = {1, 1, 1}})),
              HasSubstr("dilation is [1,1,1], but must have 2 numbers, or one for all dimensions"));
  EXPECT_THAT(
      error(convolve({2, 6, 8, 9}, {4, 6, 3, 4}, {.dilation = {3}})),
      HasSubstr(
          "weight has a window of 4 in dimension 3, which reaches over 10, but the padded input has 9"));
  EXPECT_THAT(error(convolve({2, 6, 8, 9}, {0, 6, 3, 4}, {})),
              HasSubstr("weight has shape [0x6x3x4], but must have"));
  EXPECT_THAT(error(convolve({2, 6, 0, 9}, {4, 6, 1, 2}, {.padding = {1}})),
              HasSubstr("input | convolution: input has shape [2x6x0x9], but its images must have elements"));
  EXPECT_THAT(
      error(convolve({1, 1, 4}, {1, 1, 3}, {.stride = {2}, .transposed = true, .output_padding = {2}})),
      HasSubstr("output_padding is 2 in dimension 2, but must be smaller than stride or dilation, 2 and 1"));
  EXPECT_THAT(error(convolve({1, 1, 1}, {1, 1, 3}, {.padding = {2}, .transposed = true})),
              HasSubstr("padding is 2 in dimension 2, which leaves -1 of the result"));
}

// [stride, padding, dilation] of windows of 3 x 2.
Checked pool(Shape self, std::vector<std::int64_t> stride, std::int64_t padding, std::int64_t dilation,
             bool ceil) {
  return Given()
      .tensor(Dtype::bf16, std::move(self))
      .integers({3, 2})
      .integers(std::move(stride))
      .integers({padding})
      .integers({dilation})
      .boolean(ceil)
      .check(ops::max_pool2d_with_indices);
}

TEST(Check, ComputesWhatPoolingLeaves) {
  const auto plane = [](const Checked& c) {
    EXPECT_TRUE(c.ok()) << c.error;
    EXPECT_EQ(c.outputs[1].dtype, Dtype::i64);
    EXPECT_EQ(c.outputs[0].shape, c.outputs[1].shape);
    const Shape& shape = c.outputs[0].shape;
    return Shape{shape.end()[-2], shape.end()[-1]};
  };
  EXPECT_EQ(pool({2, 4, 8, 9}, {}, 0, 1, false).outputs[0].shape, (Shape{2, 4, 2, 4}));
  EXPECT_EQ(pool({4, 8, 9}, {}, 0, 1, false).outputs[0].shape, (Shape{4, 2, 4}));
  EXPECT_EQ(pool({0, 4, 8, 9}, {}, 0, 1, false).outputs[0].shape, (Shape{0, 4, 2, 4}));
  EXPECT_EQ(plane(pool({2, 4, 8, 9}, {}, 0, 1, true)), (Shape{3, 5}));
  EXPECT_EQ(plane(pool({2, 4, 8, 9}, {2, 1}, 1, 3, false)), (Shape{2, 8}));
  EXPECT_EQ(plane(pool({2, 4, 2, 9}, {2}, 0, 1, true)), (Shape{1, 5}));  // a window that fits in part
  EXPECT_EQ(plane(pool({2, 4, 3, 2}, {9}, 1, 1, true)), (Shape{1, 1}));  // the next one begins in the padding

  EXPECT_THAT(pool({2, 4, 2, 9}, {2}, 0, 1, false).error,
              HasSubstr("kernel_size is 3 in dimension 0: it reaches over 3, but the padded input has 2"));
  EXPECT_THAT(pool({2, 4, 8, 9}, {}, 2, 1, false).error,
              HasSubstr("padding is 2 in dimension 0, but must be at most half of kernel_size, 3"));
  EXPECT_THAT(pool({2, 0, 8, 9}, {}, 0, 1, false).error,
              HasSubstr("self has shape [2x0x8x9], but only its batch may be empty"));
  EXPECT_EQ(pool({8, 9}, {}, 0, 1, false).fault, Checked::Fault::shape);
}

// Products of larger numbers would not fit into 64 bits, and what is left of them might look right.
TEST(Check, TakesNoNumbersOfAWindowAbove2To31) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31, kHuge = std::int64_t{1} << 62;
  const auto error = [](const Checked& c) { return c.argument + " | " + c.error; };
  const Checked wraps = convolve({1, 1, 3}, {1, 1, 5}, {.dilation = {kHuge}});
  EXPECT_EQ(error(wraps),
            "dilation | convolution: dilation is [4611686018427387904], but must not be above 2147483648");
  EXPECT_EQ(wraps.fault, Checked::Fault::attribute);
  EXPECT_THAT(error(convolve({1, 1, 3, 3}, {1, 1, 1, 1}, {.stride = {1, kMost + 1}})),
              HasSubstr("stride | convolution: stride is [1,2147483649], but must not be above 2147483648"));
  EXPECT_THAT(error(convolve({1, 1, 3}, {1, 1, 1}, {.padding = {kHuge}})),
              HasSubstr("padding | convolution: padding is [4611686018427387904], but"));
  EXPECT_THAT(error(convolve({1, 1, 3}, {1, 1, 1}, {.transposed = true, .output_padding = {kHuge}})),
              HasSubstr("output_padding | convolution: output_padding is [4611686018427387904], but"));
  EXPECT_THAT(error(pool({1, 1, 8, 9}, {kHuge}, 0, 1, true)), HasSubstr("stride is [4611686018427387904]"));
  EXPECT_THAT(error(pool({1, 1, 8, 9}, {}, 0, kHuge, true)), HasSubstr("dilation is [4611686018427387904]"));

  EXPECT_THAT(error(convolve({1, 1, 3}, {1, 1, 5}, {.dilation = {kMost}})),
              HasSubstr("which reaches over 8589934593, but the padded input has 3"));
  EXPECT_EQ(convolve({1, 1, 3}, {1, 1, 1}, {.stride = {kMost}, .padding = {kMost}, .dilation = {kMost}})
                .outputs.at(0)
                .shape,
            (Shape{1, 1, 3}));
  EXPECT_EQ(
      convolve({1, 1, kMost}, {1, 1, kMost},
               {.stride = {kMost}, .dilation = {kMost}, .transposed = true, .output_padding = {kMost - 1}})
          .outputs.at(0)
          .shape,
      (Shape{1, 1, 2 * (kMost - 1) * kMost + kMost}));
}

TEST(Check, TakesNoTensorsWhoseWindowsWouldNotFit) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  const auto error = [](const Checked& c) { return c.argument + " | " + c.error; };
  EXPECT_EQ(
      error(convolve({1, 1, 3, 3}, {1, 1, 1, kLarge}, {.dilation = {1 << 30}})),
      "weight | convolution: weight has a size of 1099511627776 in dimension 3, but must not have one above "
      "2147483648");
  EXPECT_EQ(
      error(convolve({1, 1, kLarge}, {1, 1, 1}, {.stride = {1 << 30}, .transposed = true})),
      "input | convolution: input has a size of 1099511627776 in dimension 2, but must not have one above "
      "2147483648");
  EXPECT_EQ(convolve({1, 1, kLarge}, {1, 1, 1}, {}).outputs.at(0).shape, (Shape{1, 1, kLarge}));
}

TEST(Check, ComputesShapesOfArguments) {
  const auto given = [](Given& g, Shape grad_output, std::vector<std::int64_t> mask, std::int64_t stride) {
    g.tensor(Dtype::f32, std::move(grad_output))
        .tensor(Dtype::f32, {2, 6, 8, 9})
        .tensor(Dtype::f32, {4, 3, 3, 2})
        .none()
        .integers({stride})
        .integers({1, 0})
        .integers({1})
        .boolean(false)
        .integers({0})
        .integer(2)
        .integers(std::move(mask), ASSAY_KIND_BOOLS);
  };
  const auto gradient = [&](Shape grad_output, std::vector<std::int64_t> mask) {
    Given g;
    given(g, std::move(grad_output), std::move(mask), 2);
    return g.check(ops::convolution_backward);
  };
  const Checked all = gradient({2, 4, 4, 4}, {1, 1, 1});
  ASSERT_TRUE(all.ok()) << all.error;
  EXPECT_EQ(all.outputs[0].shape, (Shape{2, 6, 8, 9}));
  EXPECT_EQ(all.outputs[1].shape, (Shape{4, 3, 3, 2}));
  EXPECT_EQ(all.outputs[2].shape, (Shape{4}));
  const Checked one = gradient({2, 4, 4, 4}, {0, 1, 0});
  EXPECT_EQ(one.outputs[0].shape, (Shape{0}));
  EXPECT_EQ(one.outputs[1].shape, (Shape{4, 3, 3, 2}));
  EXPECT_EQ(one.outputs[2].shape, (Shape{0}));

  const Checked wrong = gradient({2, 4, 4, 5}, {1, 1, 1});
  EXPECT_EQ(wrong.argument, "grad_output");
  EXPECT_THAT(wrong.error, HasSubstr("grad_output has shape [2x4x4x5], but must have shape [2x4x4x4]"));
  const Checked mask = gradient({2, 4, 4, 4}, {1, 1});
  EXPECT_THAT(mask.error, HasSubstr("output_mask has 2 values, but must have one for each of 3 results"));

  // What the shape must be is known whatever it is, unless something else is wrong.
  using Computed = std::vector<std::pair<int, Shape>>;
  const auto computed = [&](std::int64_t stride) {
    Given g;
    given(g, {}, {1, 1, 1}, stride);
    return computed_shapes(ops::convolution_backward, g.values());
  };
  EXPECT_EQ(computed(2), (Computed{{0, {2, 4, 4, 4}}}));
  EXPECT_EQ(computed(0), Computed{});
}

TEST(Check, ResizesPlanesThatHaveElements) {
  const auto resize = [](Shape self, std::vector<std::int64_t> output_size) {
    Given g;
    g.tensor(Dtype::f32, std::move(self)).integers(std::move(output_size)).none().real(0.5);
    return g.check(ops::upsample_nearest2d);
  };
  EXPECT_EQ(resize({2, 3, 4, 5}, {7, 1}).outputs[0].shape, (Shape{2, 3, 7, 1}));
  EXPECT_EQ(resize({0, 3, 4, 5}, {7, 1}).outputs[0].shape, (Shape{0, 3, 7, 1}));
  EXPECT_THAT(resize({2, 3, 4, 5}, {7, 0}).error, HasSubstr("output_size has a 0, but must be positive"));
  EXPECT_THAT(resize({2, 3, 4, 0}, {7, 1}).error, HasSubstr("self has shape [2x3x4x0], but only its batch"));
  EXPECT_EQ(resize({2, 3, 4, 5}, {7}).fault, Checked::Fault::shape);
}

}  // namespace
}  // namespace assay
