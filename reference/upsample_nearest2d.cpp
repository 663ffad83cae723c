#include "ops/upsample_nearest2d.h"

#include <algorithm>
#include <cmath>

#include "reference_of.h"

namespace assay {
namespace {

// Which element of `size` stands at position `at` of `out`, computed in F.
template <class F>
std::int64_t source(std::int64_t at, std::int64_t size, std::int64_t out, std::optional<double> scale) {
  const F step = scale ? static_cast<F>(1.0 / *scale) : static_cast<F>(size) / static_cast<F>(out);
  const F place = static_cast<F>(at) * step;
  return place < static_cast<F>(size - 1) ? static_cast<std::int64_t>(place) : size - 1;
}

struct UpsampleNearest2d {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    const auto element = [&]<class F>(F) {
      return self(i[0], i[1], source<F>(i[2], self.size(2), output_size[0], scales_h),
                  source<F>(i[3], self.size(3), output_size[1], scales_w));
    };
    return either(element(float{}), [&] { return element(double{}); });
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

// Where an element lies in the input: o s; (o + 1/2) s - 1/2; or so that the corners of both images meet.
enum class Looking : std::uint8_t { corner, middle, aligned };
enum class To : std::uint8_t { below, above, nearest_up, nearest_down };

template <Looking from, To to>
struct NearestCoordinates {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    return self(i[0], i[1], place(i[2], self.size(2), output_size[0], scales_h),
                place(i[3], self.size(3), output_size[1], scales_w));
  }

 private:
  static std::int64_t place(std::int64_t at, std::int64_t size, std::int64_t out,
                            std::optional<double> scale) {
    const double step = scale ? 1.0 / *scale : static_cast<double>(size) / static_cast<double>(out);
    const auto o = static_cast<double>(at);
    const double x = from == Looking::corner   ? o * step
                     : from == Looking::middle ? (o + 0.5) * step - 0.5
                     : out > 1 ? o * static_cast<double>(size - 1) / static_cast<double>(out - 1)
                               : 0;
    const double whole = to == To::below        ? std::floor(x)
                         : to == To::above      ? std::ceil(x)
                         : to == To::nearest_up ? std::floor(x + 0.5)
                                                : std::ceil(x - 0.5);
    return static_cast<std::int64_t>(std::clamp(whole, 0.0, static_cast<double>(size - 1)));
  }
};

// The image beside itself.
struct Tiled {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t>, std::optional<double>,
               std::optional<double>, const Index& i) const {
    return self(i[0], i[1], i[2] % self.size(2), i[3] % self.size(3));
  }
};

// Elements at the corners of what they are enlarged to.
struct ZerosBetween {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size, std::optional<double>,
               std::optional<double>, const Index& i) const {
    const std::int64_t rows = std::max<std::int64_t>(1, output_size[0] / self.size(2)),
                       columns = std::max<std::int64_t>(1, output_size[1] / self.size(3));
    const std::int64_t row = i[2] / rows, column = i[3] / columns;
    return i[2] % rows != 0 || i[3] % columns != 0 || row >= self.size(2) || column >= self.size(3)
               ? S(0)
               : self(i[0], i[1], row, column);
  }
};

const EnrolledReference upsample_nearest2d_reference{reference<ops::upsample_nearest2d, UpsampleNearest2d>()};

template <Looking from, To to>
WrongFormula nearest_by(std::string_view name, std::string_view says, std::string_view definition) {
  return wrong_formula<ops::upsample_nearest2d, NearestCoordinates<from, to>>(name, says)
      .as_defined_by(definition);
}

const EnrolledWrong upsample_nearest2d_wrong[] = {
    EnrolledWrong{wrong_formula<ops::upsample_nearest2d, Tiled>(
        "tiled", "repeats the whole image beside itself, as torch.tile and Tensor.repeat do")},
    EnrolledWrong{wrong_formula<ops::upsample_nearest2d, ZerosBetween>(
        "zeros_between",
        "leaves zeros between the elements, as what goes into a transposed convolution has")},
    EnrolledWrong{nearest_by<Looking::middle, To::nearest_up>(
        "half_pixels", "looks from the middle of a pixel: takes the element nearest to (o + 1/2) s - 1/2",
        "PyTorch's nearest-exact, TensorFlow 2, and ONNX Resize with half_pixel and round_prefer_ceil")},
    EnrolledWrong{nearest_by<Looking::middle, To::nearest_down>(
        "half_pixels_ties_down",
        "takes the element nearest to (o + 1/2) s - 1/2, the lower of two that are as near",
        "ONNX Resize by its defaults, half_pixel and round_prefer_floor")},
    EnrolledWrong{nearest_by<Looking::middle, To::below>("half_pixels_floor",
                                                         "takes the element at floor((o + 1/2) s - 1/2)",
                                                         "ONNX Resize with half_pixel and floor")},
    EnrolledWrong{nearest_by<Looking::middle, To::above>("half_pixels_ceil",
                                                         "takes the element at ceil((o + 1/2) s - 1/2)",
                                                         "ONNX Resize with half_pixel and ceil")},
    EnrolledWrong{nearest_by<Looking::corner, To::nearest_up>(
        "rounded", "takes the element nearest to o s, and not the one at its floor",
        "ONNX Resize with asymmetric and round_prefer_ceil")},
    EnrolledWrong{nearest_by<Looking::corner, To::nearest_down>(
        "rounded_ties_down", "takes the element nearest to o s, the lower of two that are as near",
        "ONNX Resize with asymmetric and round_prefer_floor")},
    EnrolledWrong{nearest_by<Looking::corner, To::above>("ceil", "takes the element at ceil(o s)",
                                                         "ONNX Resize with asymmetric and ceil")},
    EnrolledWrong{nearest_by<Looking::aligned, To::nearest_up>(
        "aligned_corners", "takes the element nearest to o (size - 1) / (output_size - 1)",
        "ONNX Resize with align_corners and round_prefer_ceil, and TensorFlow 1 with align_corners")},
    EnrolledWrong{nearest_by<Looking::aligned, To::nearest_down>(
        "aligned_corners_ties_down",
        "takes the element nearest to o (size - 1) / (output_size - 1), the lower of two that are as near",
        "ONNX Resize with align_corners and round_prefer_floor")},
    EnrolledWrong{nearest_by<Looking::aligned, To::below>(
        "aligned_corners_floor", "takes the element at floor(o (size - 1) / (output_size - 1))",
        "ONNX Resize with align_corners and floor")}};

}  // namespace
}  // namespace assay
