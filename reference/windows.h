// Windows that move over an image: which of its elements a window's tap looks at. An image is what a tensor has after
// its first two dimensions; positions and taps count in row-major order.
#pragma once

#include <cstdint>
#include <span>

#include "index.h"
#include "tensor.h"

namespace assay {

// The number of elements from this dimension on.
template <class S>
std::int64_t inner(const Tensor<S>& tensor, int dimension) {
  std::int64_t n = 1;
  for (int d = dimension; d < tensor.rank(); ++d) n *= tensor.size(d);
  return n;
}

// One number for each dimension of the image, or one for all.
struct Window {
  std::span<const std::int64_t> stride, padding, dilation;

  // The element of `image` that tap r looks at from position `at`: o * stride - padding + r * dilation. -1 outside.
  std::int64_t target(const Index& at, std::int64_t r, std::span<const std::int64_t> weight,
                      std::span<const std::int64_t> image) const {
    return find(r, weight, image, [&](std::size_t d, std::int64_t tap) {
      return at[static_cast<int>(d) + 2] * of(stride, d) - of(padding, d) + tap * of(dilation, d);
    });
  }
  // The same with `into(position, size)` in place of a position along a dimension of the image.
  template <class Into>
  std::int64_t target_by(const Into& into, const Index& at, std::int64_t r,
                         std::span<const std::int64_t> weight, std::span<const std::int64_t> image) const {
    return find(r, weight, image, [&](std::size_t d, std::int64_t tap) {
      return into(at[static_cast<int>(d) + 2] * of(stride, d) - of(padding, d) + tap * of(dilation, d),
                  image[d + 2]);
    });
  }
  // The other way: the element of `image` from which tap r looks at position `at`. -1 if there is none.
  std::int64_t source(const Index& at, std::int64_t r, std::span<const std::int64_t> weight,
                      std::span<const std::int64_t> image) const {
    return find(r, weight, image, [&](std::size_t d, std::int64_t tap) {
      const std::int64_t distance = at[static_cast<int>(d) + 2] + of(padding, d) - tap * of(dilation, d);
      return distance % of(stride, d) == 0 ? distance / of(stride, d) : -1;
    });
  }

 private:
  static std::int64_t of(std::span<const std::int64_t> list, std::size_t d) {
    return list.size() == 1 ? list[0] : list[d];
  }

  template <class Position>  // (dimension of the image, tap there)
  static std::int64_t find(std::int64_t r, std::span<const std::int64_t> weight,
                           std::span<const std::int64_t> image, const Position& position) {
    std::int64_t number = 0, stride = 1;
    for (std::size_t d = image.size() - 2; d-- > 0;) {
      const std::int64_t at = position(d, r % weight[d + 2]);
      if (at < 0 || at >= image[d + 2]) return -1;
      number += at * stride;
      stride *= image[d + 2];
      r /= weight[d + 2];
    }
    return number;
  }
};

}  // namespace assay
