// Images, tensors of batch, channels, rows and columns, and the order in which threads go through one: along the rows,
// or along the channels where those are neighbours in memory.
#pragma once

#include "call.h"
#include "space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// An element of an image.
struct Pixel {
  std::int64_t image, channel, row, column;
};

// Sizes and strides; a tensor without a batch has one image.
struct Image {
  std::int64_t size[4] = {1, 1, 1, 1}, stride[4] = {};

  Image() = default;
  explicit Image(const View& v) {
    for (int d = 4 - v.rank(); d < 4; ++d) {
      size[d] = v.size(d - 4 + v.rank());
      stride[d] = size[d] == 1 ? 0 : v.stride(d - 4 + v.rank());
    }
  }
  __device__ std::int64_t plane(const Pixel& p) const { return p.image * stride[0] + p.channel * stride[1]; }
  __device__ std::int64_t offset(const Pixel& p) const {
    return plane(p) + p.row * stride[2] + p.column * stride[3];
  }
  bool along_channels() const { return stride[1] == 1 && stride[3] != 1; }
  // Whether dimension d is whole vectors of so many elements, on multiples of their size.
  bool in_vectors(int d, const void* data, int width) const {
    if (stride[d] != 1 || size[d] % width != 0 || reinterpret_cast<std::uintptr_t>(data) % 16 != 0)
      return false;
    for (int other = 0; other < 4; ++other)
      if (other != d && stride[other] % width != 0) return false;
    return true;
  }
};

// a / b for numbers that are not negative: of 64-bit numbers a division takes several times as long.
__device__ __forceinline__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

// The elements of an image, numbered in the order that threads take them; or pieces, `each` elements of the innermost
// dimension.
struct Walk {
  bool along_channels, narrow;  // numbers fit 32 bits
  std::int32_t each;
  std::int64_t count, size[3];  // from the innermost dimension
  Divisor by_size[3];           // where it is narrow

  Walk(const Image& image, bool channels, int elements)
      : along_channels(channels), each(elements), count(image.size[0]) {
    const int order[] = {channels ? 1 : 3, channels ? 3 : 2, channels ? 2 : 1};
    for (int d = 0; d < 3; ++d) {
      size[d] = d == 0 ? (image.size[order[d]] + each - 1) / each : image.size[order[d]];
      count *= size[d];
    }
    narrow = count > 0 && count <= std::int64_t{1} << 31;
    for (int d = 0; narrow && d < 3; ++d) by_size[d] = Divisor(static_cast<std::uint32_t>(size[d]));
  }
  __device__ Pixel at(std::int64_t i) const {
    std::int64_t index[3];
    ASSAY_UNROLL
    for (int d = 0; d < 3; ++d) {
      const std::int64_t rest = narrow ? by_size[d].quotient(static_cast<std::uint32_t>(i)) : i / size[d];
      index[d] = i - rest * size[d];
      i = rest;
    }
    index[0] *= each;
    return along_channels ? Pixel{i, index[0], index[2], index[1]} : Pixel{i, index[2], index[1], index[0]};
  }
};

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
