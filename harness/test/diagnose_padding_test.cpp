// Padding that is another one before an image than after it has a name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "diagnose_experiment.h"

namespace assay::diagnose {
namespace {

using Two = std::array<std::int64_t, 2>;

// One window of a plane of `self` or `input`: its elements, with the number of each tap.
struct Window {
  std::vector<std::pair<std::int64_t, std::int64_t>>
      taps;                 // the number of an element of the tensor, and of its tap
  std::int64_t padded = 0;  // of taps, how many are in the image or in its padding
};

Window window(const Shape& image, std::int64_t plane, const Two& start, std::int64_t kernel,
              const Two& behind) {
  Window w;
  const std::int64_t rows = image[2], columns = image[3];
  for (std::int64_t r = 0; r < kernel; ++r)
    for (std::int64_t c = 0; c < kernel; ++c) {
      const std::int64_t y = start[0] + r, x = start[1] + c;
      w.padded += y < rows + behind[0] && x < columns + behind[1] ? 1 : 0;
      if (y >= 0 && y < rows && x >= 0 && x < columns)
        w.taps.emplace_back((plane * rows + y) * columns + x, r * kernel + c);
    }
  return w;
}

struct Padding {
  Two before, behind;
};

// What an engine gives that pads so, and makes results of the size that they should have.
Diagnosis padded(const std::string& text, std::int64_t kernel, std::int64_t stride, const Padding& padding) {
  Experiment e(text);
  const Shape& out = e.result.shape;
  const TensorData& image = e.tensor(0);
  const std::string_view op = e.call.op->schema.name;
  e.fill([&](std::int64_t i) {
    const std::int64_t x = i % out[3], y = i / out[3] % out[2], plane = i / out[3] / out[2];
    const Two start{y * stride - padding.before[0], x * stride - padding.before[1]};
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    if (op == "convolution") {
      const TensorData& weight = e.tensor(1);
      const std::int64_t channels = image.shape[1], n = plane / out[1], k = plane % out[1];
      for (std::int64_t c = 0; c < channels; ++c)
        for (const auto& [at, tap] :
             window(image.shape, n * channels + c, start, kernel, padding.behind).taps)
          sum += image.get(at) * weight.get((k * channels + c) * kernel * kernel + tap);
      return sum;
    }
    const Window w = window(image.shape, plane, start, kernel, padding.behind);
    for (const auto& [at, tap] : w.taps) {
      sum += image.get(at);
      largest = std::max(largest, image.get(at));
    }
    return op == "max_pool2d" ? largest : sum / static_cast<double>(w.padded);
  });
  return e.diagnosis();
}

std::string convolution(const std::string& sizes, int stride, int padding) {
  const std::string s = std::to_string(stride), p = std::to_string(padding);
  return "convolution:f32:input=" + sizes + ",bias=none,stride=[" + s + "," + s + "],padding=[" + p + "," +
         p + "],dilation=[1,1],transposed=false,output_padding=[0,0],groups=1:data=normal:seed=3";
}

TEST(DiagnosePadding, IsNamedWhereItIsAsymmetric) {
  const std::string pool = "2d:f32:self=2x3x12x12,kernel_size=3,stride=2,padding=1:data=normal:seed=3";
  const std::string pool_of_4 = "2d:f32:self=2x3x11x11,kernel_size=4,stride=1,padding=1:data=normal:seed=3";
  const struct {
    std::string text;
    std::int64_t kernel, stride;
    Padding padding;
    std::string name;
  } kEngines[] = {
      // PyTorch pads one on each side, and TensorFlow's SAME none before and one after.
      {convolution("2x3x8x8,weight=4x3x3x3", 2, 1), 3, 2, {{0, 0}, {1, 1}}, "padding.as_same"},
      {convolution("1x2x16x16,weight=3x2x7x7", 2, 3), 7, 2, {{2, 2}, {3, 3}}, "padding.as_same"},
      {convolution("1x2x16x16,weight=3x2x5x5", 4, 2), 5, 4, {{0, 0}, {1, 1}}, "padding.as_same"},
      {"avg_pool" + pool, 3, 2, {{0, 0}, {1, 1}}, "padding.as_same"},
      {"max_pool" + pool, 3, 2, {{0, 0}, {1, 1}}, "padding.as_same"},
      {convolution("2x3x9x9,weight=4x3x4x4", 1, 2), 4, 1, {{1, 1}, {3, 3}}, "padding.one_less_before"},
      {convolution("2x3x8x8,weight=4x3x3x3", 1, 1), 3, 1, {{0, 0}, {2, 2}}, "padding.one_less_before"},
      {convolution("2x3x8x8,weight=4x3x3x3", 1, 1), 3, 1, {{2, 2}, {0, 0}}, "padding.one_more_before"},
      {convolution("2x3x8x8,weight=4x3x3x3", 1, 1),
       3,
       1,
       {{1, 0}, {1, 2}},
       "padding.one_less_before_dimension_1"},
      {"avg_pool" + pool_of_4, 4, 1, {{0, 0}, {2, 2}}, "padding.one_less_before"},
      {"avg_pool" + pool_of_4, 4, 1, {{2, 2}, {0, 0}}, "padding.one_more_before"},
      {"avg_pool" + pool_of_4, 4, 1, {{1, 2}, {1, 0}}, "padding.one_more_before_dimension_1"},
      {"max_pool" + pool_of_4, 4, 1, {{0, 1}, {2, 1}}, "padding.one_less_before_dimension_0"},
  };
  for (const auto& [text, kernel, stride, padding, name] : kEngines) {
    const Diagnosis d = padded(text, kernel, stride, padding);
    EXPECT_EQ(d.kind, Diagnosis::Kind::named) << text;
    EXPECT_EQ(first_cause(d), name) << text << "\n" << to_text(d, Style(false));
  }
}

// Less padding on both sides that gives results of the same size is no asymmetry.
TEST(DiagnosePadding, IsNotAsymmetricWhereBothSidesExplainIt) {
  const Diagnosis d = padded(convolution("2x3x10x10,weight=4x3x4x4", 3, 1), 4, 3, {{0, 0}, {0, 0}});
  EXPECT_EQ(d.kind, Diagnosis::Kind::named);
  EXPECT_EQ(first_cause(d), "padding.always_0") << to_text(d, Style(false));
}

TEST(DiagnosePadding, RightPaddingIsNoFault) {
  EXPECT_EQ(padded(convolution("2x3x8x8,weight=4x3x3x3", 2, 1), 3, 2, {{1, 1}, {1, 1}}).kind,
            Diagnosis::Kind::no_fault);
  EXPECT_EQ(padded("avg_pool2d:f32:self=2x3x12x12,kernel_size=3,stride=2,padding=1:data=normal:seed=3", 3, 2,
                   {{1, 1}, {1, 1}})
                .kind,
            Diagnosis::Kind::no_fault);
}

}  // namespace
}  // namespace assay::diagnose
