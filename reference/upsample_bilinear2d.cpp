#include "ops/upsample_bilinear2d.h"

#include <algorithm>
#include <cmath>
#include <vector>

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
    return align_corners ? unbounded<S>(at) : maximum(unbounded<S>(at), S(0));
  }
  // The same, where that may be half a pixel before its first element.
  template <class S>
  S unbounded(std::int64_t at) const {
    if (align_corners) return out > 1 ? S(size - 1) / S(out - 1) * S(at) : S(0);
    return step<S>() * (S(at) + S(0.5)) - S(0.5);
  }
  // From one element of the output to the next.
  template <class S>
  S step() const {
    return scale && *scale > 0 ? param<S>(1.0 / *scale) : S(size) / S(out);
  }

  // between(k, next, 1 - l, l) where the element `at` lies l after k.
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

// Linearly between the elements around a place that Where says.
template <class Where>
struct LinearlyAt {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size, bool align_corners,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    if (align_corners) return UpsampleBilinear2d{}(self, output_size, align_corners, scales_h, scales_w, i);
    const Resized rows{self.size(2), output_size[0], false, scales_h},
        columns{self.size(3), output_size[1], false, scales_w};
    return along<S>(rows, i[2], [&](std::int64_t h) {
      return along<S>(columns, i[3], [&](std::int64_t w) { return self(i[0], i[1], h, w); });
    });
  }

 private:
  template <class S, class Element>
  static S along(const Resized& axis, std::int64_t at, const Element& element) {
    const S x = minimum(Where::template place<S>(axis, at), S(axis.size - 1));
    return by_floor<S>(x, axis.size, [&](std::int64_t k) {
      const S l = minimum(maximum(x - S(k), S(0)), S(1));
      return (S(1) - l) * element(k) + l * element(std::min(k + 1, axis.size - 1));
    });
  }
};

// At x = o s.
struct Corner {
  template <class S>
  static S place(const Resized& axis, std::int64_t at) {
    return axis.step<S>() * S(at);
  }
};
using WithoutHalfPixels = LinearlyAt<Corner>;

// At x = (o + 1/2) s.
struct HalfLate {
  template <class S>
  static S place(const Resized& axis, std::int64_t at) {
    return axis.unbounded<S>(at) + S(0.5);
  }
};
using HalfAPixelLate = LinearlyAt<HalfLate>;

// The mean of all elements under a triangle, which is as wide as the step from one result to the next.
struct Antialiased {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size, bool align_corners,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    if (align_corners) return UpsampleBilinear2d{}(self, output_size, align_corners, scales_h, scales_w, i);
    const Triangle rows(i[2], self.size(2), output_size[0], scales_h),
        columns(i[3], self.size(3), output_size[1], scales_w);
    return sum<S>(rows.size(), [&](std::int64_t r) {
      return S(rows.weight(r)) * sum<S>(columns.size(), [&](std::int64_t c) {
               return S(columns.weight(c)) * self(i[0], i[1], rows.first + r, columns.first + c);
             });
    });
  }

 private:
  struct Triangle {
    std::int64_t first;
    std::vector<double> weights;

    Triangle(std::int64_t at, std::int64_t size, std::int64_t out, std::optional<double> scale) {
      const double step =
          scale && *scale > 0 ? 1.0 / *scale : static_cast<double>(size) / static_cast<double>(out);
      const double half = std::max(step, 1.0), middle = (static_cast<double>(at) + 0.5) * step;
      const auto place = [&](double x) {
        return std::clamp(static_cast<std::int64_t>(x + 0.5), std::int64_t{0}, size);
      };
      first = std::min(place(middle - half), size - 1);
      const std::int64_t end = std::max(place(middle + half), first + 1);
      double total = 0;
      for (std::int64_t k = first; k < end; ++k) {
        weights.push_back(std::max(0.0, 1 - std::fabs((static_cast<double>(k) - middle + 0.5) / half)));
        total += weights.back();
      }
      for (double& w : weights) w = total > 0 ? w / total : 1 / static_cast<double>(weights.size());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(weights.size()); }
    double weight(std::int64_t k) const { return weights[static_cast<std::size_t>(k)]; }
  };
};

// By cubics through four elements in each dimension, of which a says how steep they are one element away.
template <int kHundredths>
struct Bicubic {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> output_size, bool align_corners,
               std::optional<double> scales_h, std::optional<double> scales_w, const Index& i) const {
    const Resized rows{self.size(2), output_size[0], align_corners, scales_h},
        columns{self.size(3), output_size[1], align_corners, scales_w};
    return along<S>(rows, i[2], [&](std::int64_t h) {
      return along<S>(columns, i[3], [&](std::int64_t w) { return self(i[0], i[1], h, w); });
    });
  }

 private:
  template <class S, class Element>
  static S along(const Resized& axis, std::int64_t at, const Element& element) {
    const S a = S(kHundredths / 100.0), x = axis.unbounded<S>(at) + S(1);
    const auto near = [&](const S& d) { return ((a + S(2)) * d - (a + S(3))) * d * d + S(1); };
    const auto far = [&](const S& d) { return ((a * d - S(5) * a) * d + S(8) * a) * d - S(4) * a; };
    return by_floor<S>(x, axis.size + 1, [&](std::int64_t k) {
      const S t = x - S(k);
      const auto beside = [&](std::int64_t by) {
        return element(std::clamp<std::int64_t>(k - 1 + by, 0, axis.size - 1));
      };
      return far(t + S(1)) * beside(-1) + near(t) * beside(0) + near(S(1) - t) * beside(1) +
             far(S(2) - t) * beside(2);
    });
  }
};

const EnrolledReference upsample_bilinear2d_reference{
    reference<ops::upsample_bilinear2d, UpsampleBilinear2d>()};

const EnrolledWrong upsample_bilinear2d_wrong[] = {
    EnrolledWrong{wrong_formula<ops::upsample_bilinear2d, WithoutHalfPixels>(
                      "without_half_pixels", "looks from the corner of a pixel, at x = o s")
                      .as_defined_by("TensorFlow 1, and ONNX Resize with asymmetric")},
    EnrolledWrong{wrong_formula<ops::upsample_bilinear2d, HalfAPixelLate>(
        "half_a_pixel_late", "looks at x = (o + 1/2) s, and does not take 1/2 away")},
    EnrolledWrong{wrong_formula<ops::upsample_bilinear2d, Antialiased>(
                      "antialiased", "takes the mean under a triangle where the image becomes smaller")
                      .as_defined_by("PyTorch, ONNX and TensorFlow with antialias, and Pillow")},
    EnrolledWrong{wrong_formula<ops::upsample_bilinear2d, Bicubic<-75>>(
                      "bicubic", "interpolates by cubics with a = -0.75, and not linearly")
                      .as_defined_by("bicubic resampling of PyTorch, OpenCV and ONNX")},
    EnrolledWrong{
        wrong_formula<ops::upsample_bilinear2d, Bicubic<-50>>(
            "bicubic_by_half", "interpolates by cubics with a = -0.5, and not linearly")
            .as_defined_by("bicubic resampling of TensorFlow, and of ONNX with cubic_coeff_a=-0.5")}};

}  // namespace
}  // namespace assay
