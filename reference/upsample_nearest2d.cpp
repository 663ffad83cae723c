#include "ops/upsample_nearest2d.h"

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

struct HalfPixels {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    const auto place = [](std::int64_t at, std::int64_t size, std::int64_t out, std::optional<double> scale) {
      const double step = scale ? 1.0 / *scale : static_cast<double>(size) / static_cast<double>(out);
      const double x = (static_cast<double>(at) + 0.5) * step;
      return x < static_cast<double>(size - 1) ? static_cast<std::int64_t>(x) : size - 1;
    };
    return self(i[0], i[1], place(i[2], self.size(2), output_size[0], scales_h),
                place(i[3], self.size(3), output_size[1], scales_w));
  }
};

const EnrolledReference upsample_nearest2d_reference{reference<ops::upsample_nearest2d, UpsampleNearest2d>()};

const EnrolledWrong upsample_nearest2d_wrong[] = {
    EnrolledWrong{wrong_formula<ops::upsample_nearest2d, HalfPixels>(
        "half_pixels", "looks from the middle of a pixel, as nearest-exact does")}};

}  // namespace
}  // namespace assay
