#include "ops/upsample_bilinear2d.h"

#include "reference_of.h"

namespace assay {
namespace {

// One dimension.
struct Resized {
  std::int64_t size, out;
  bool align_corners;
  std::optional<double> scale;

  // Where in the input the element `at` of the output lies.
  template <class S>
  S source(std::int64_t at) const {
    if (align_corners) return out > 1 ? S(size - 1) / S(out - 1) * S(at) : S(0);
    const S step = scale && *scale > 0 ? param<S>(1.0 / *scale) : S(size) / S(out);
    return maximum(step * (S(at) + S(0.5)) - S(0.5), S(0));
  }

  // between(k, next, 1 - l, l) where the element `at` lies l behind k.
  template <class S, class Between>
  S interpolate(std::int64_t at, const Between& between) const {
    if (size == out) return between(at, at, S(1), S(0));
    const S x = source<S>(at);
    return by_floor<S>(x, size, [&](std::int64_t k) {
      const S l = minimum(maximum(x - S(k), S(0)), S(1));
      return between(k, std::min(k + 1, size - 1), S(1) - l, l);
    });
  }
};

struct UpsampleBilinear2d {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size, bool align_corners,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    const Resized rows{self.size(2), output_size[0], align_corners, scales_h},
        columns{self.size(3), output_size[1], align_corners, scales_w};
    return rows.interpolate<S>(i[2], [&](std::int64_t h0, std::int64_t h1, const S& u0, const S& u1) {
      return columns.interpolate<S>(i[3], [&](std::int64_t w0, std::int64_t w1, const S& v0, const S& v1) {
        const S a = self(i[0], i[1], h0, w0), b = self(i[0], i[1], h0, w1), c = self(i[0], i[1], h1, w0),
                d = self(i[0], i[1], h1, w1);
        const S along_rows = u0 * (v0 * a + v1 * b) + u1 * (v0 * c + v1 * d);
        const S in_one_direction =
            either(along_rows, [&] { return v0 * (u0 * a + u1 * c) + v1 * (u0 * b + u1 * d); });
        return either(in_one_direction,
                      [&] { return u0 * v0 * a + u0 * v1 * b + u1 * v0 * c + u1 * v1 * d; });
      });
    });
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct WithoutHalfPixels {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size, bool align_corners,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    if (align_corners) return UpsampleBilinear2d{}(self, output_size, align_corners, scales_h, scales_w, i);
    const auto corner = [&](int d, std::int64_t out, std::optional<double> scale) {
      const double size = static_cast<double>(self.size(d));
      const double step = scale && *scale > 0 ? 1.0 / *scale : size / static_cast<double>(out);
      return std::min(static_cast<double>(i[d]) * step, size - 1);
    };
    const double h = corner(2, output_size[0], scales_h), w = corner(3, output_size[1], scales_w);
    const auto h0 = static_cast<std::int64_t>(h), w0 = static_cast<std::int64_t>(w);
    const std::int64_t h1 = std::min(h0 + 1, self.size(2) - 1), w1 = std::min(w0 + 1, self.size(3) - 1);
    const S u = S(h - static_cast<double>(h0)), v = S(w - static_cast<double>(w0));
    return (S(1) - u) * ((S(1) - v) * self(i[0], i[1], h0, w0) + v * self(i[0], i[1], h0, w1)) +
           u * ((S(1) - v) * self(i[0], i[1], h1, w0) + v * self(i[0], i[1], h1, w1));
  }
};

const EnrolledReference upsample_bilinear2d_reference{
    reference<ops::upsample_bilinear2d, UpsampleBilinear2d>()};

const EnrolledWrong upsample_bilinear2d_wrong[] = {
    EnrolledWrong{wrong_formula<ops::upsample_bilinear2d, WithoutHalfPixels>(
        "without_half_pixels", "looks from the corner of a pixel")}};

}  // namespace
}  // namespace assay
