// Windows of pooling: which elements of a plane, the last two dimensions of a tensor, a window looks at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "index.h"

namespace assay {

// Two numbers, or one for both dimensions; a stride of none is kernel_size.
struct Pooling {
  std::span<const std::int64_t> kernel_size, stride, padding, dilation;
};

// The window of one result.
class Pooled {
 public:
  Pooled(std::span<const std::int64_t> shape, const Pooling& pooling, const Index& i)
      : rows_(shape, pooling, i, 0), columns_(shape, pooling, i, 1) {
    const std::span<const std::int64_t> out = i.shape();
    width_ = shape[shape.size() - 1];
    plane_ = i.number() / (out[out.size() - 2] * out[out.size() - 1]) * shape[shape.size() - 2] * width_;
  }

  std::int64_t size() const { return rows_.taps * columns_.taps; }  // taps in the plane
  std::int64_t padded() const {
    return rows_.padded * columns_.padded;
  }  // without dilation: in its padding, too
  // Of tap k, in row-major order: the number of its element in the plane, and in the tensor.
  std::int64_t place(std::int64_t k) const {
    return corner() + k / columns_.taps * rows_.step * width_ + k % columns_.taps * columns_.step;
  }
  std::int64_t number(std::int64_t k) const { return plane_ + place(k); }
  std::int64_t plane() const { return plane_; }  // the number of the plane's first element in the tensor
  // The place of tap 0, or where it would be.
  std::int64_t corner() const { return rows_.first * width_ + columns_.first; }

 private:
  struct Axis {
    std::int64_t first, step, taps, padded;

    Axis(std::span<const std::int64_t> shape, const Pooling& pooling, const Index& i, std::size_t d) {
      const auto of = [d](std::span<const std::int64_t> list) {
        return list.size() == 1 ? list[0] : list[d];
      };
      const std::int64_t size = shape[shape.size() - 2 + d], kernel = of(pooling.kernel_size),
                         padding = of(pooling.padding);
      const std::int64_t stride = pooling.stride.empty() ? kernel : of(pooling.stride);
      const std::int64_t start = i[i.rank() - 2 + static_cast<int>(d)] * stride - padding;
      step = pooling.dilation.empty() ? 1 : of(pooling.dilation);
      first = start < 0 ? start + (step - 1 - start) / step * step : start;
      const std::int64_t end = std::min(start + (kernel - 1) * step + 1, size);
      taps = first < end ? (end - first - 1) / step + 1 : 0;
      padded = std::min(start + kernel, size + padding) - start;
    }
  };

  Axis rows_, columns_;
  std::int64_t width_, plane_;
};

}  // namespace assay
