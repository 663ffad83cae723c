// Elements repeated or left out. Where an element comes from is two multiplications, which every thread makes for itself.
// A thread takes 16 bytes of the result where those are neighbours in memory: of channels, if those of the input are
// neighbours, too, or of a row, whose elements it reads one by one. Else it takes an element. Elements are moved as bits.
#include "ops/upsample_nearest2d.h"

#include <optional>

#include "image.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// One dimension of the input; the step is f32 for all dtypes, as ATen computes it.
struct Nearest {
  std::int64_t size, stride;
  float step;

  Nearest(const Image& in, const Image& out, int d, std::optional<double> scale)
      : size(in.size[d]),
        stride(in.stride[d]),
        step(scale ? static_cast<float>(1.0 / *scale)
                   : static_cast<float>(in.size[d]) / static_cast<float>(out.size[d])) {}

  // Of what stands at `at` in the output. A place beyond the last element may be too large for an integer.
  __device__ std::int64_t offset(std::int64_t at) const {
    const float place = static_cast<float>(at) * step;
    return (place < static_cast<float>(size - 1) ? static_cast<std::int64_t>(place) : size - 1) * stride;
  }
};

struct NearestShape {
  Image in, out;
  Nearest rows, columns;
};

// Budget: 32 registers, 1.24 sectors.
template <class T>
__global__ void upsample_nearest_kernel(T* out, const T* in, NearestShape s, Walk walk) {
  for (std::int64_t i = global_thread(); i < walk.count; i += global_threads()) {
    const Pixel p = walk.at(i);
    out[s.out.offset(p)] = in[s.in.plane(p) + s.rows.offset(p.row) + s.columns.offset(p.column)];
  }
}

// Budget: 32 registers, 1.54 sectors.
template <class T>
__global__ void upsample_nearest_vector_kernel(T* out, const T* in, NearestShape s, Walk walk) {
  for (std::int64_t i = global_thread(); i < walk.count; i += global_threads()) {
    const Pixel p = walk.at(i);
    const T* const row = in + s.in.plane(p) + s.rows.offset(p.row);
    T* const to = out + s.out.offset(p);
    if (walk.along_channels) {
      store_vector(to, load_vector(row + s.columns.offset(p.column)));
      continue;
    }
    Vector<T> y;
    ASSAY_UNROLL
    for (int j = 0; j < Vector<T>::size; ++j) y.element[j] = row[s.columns.offset(p.column + j)];
    store_vector(to, y);
  }
}

inline constexpr int kNearestThreads = 256;

template <class T>
void upsample_nearest_as(const View& self, View& out, const NearestShape& s) {
  constexpr int width = Vector<T>::size;
  T* const to = out.as<T>();
  const T* const from = self.as<const T>();
  const bool pixels = s.in.in_vectors(1, from, width) && s.out.in_vectors(1, to, width);
  if (pixels || s.out.in_vectors(3, to, width)) {
    const Walk walk(s.out, pixels, width);
    return launch<upsample_nearest_vector_kernel<T>>(blocks_for(walk.count, kNearestThreads), kNearestThreads,
                                                     0, to, from, s, walk);
  }
  const Walk walk(s.out, s.out.along_channels(), 1);
  launch<upsample_nearest_kernel<T>>(blocks_for(walk.count, kNearestThreads), kNearestThreads, 0, to, from, s,
                                     walk);
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void upsample_nearest2d(const View& self, std::span<const std::int64_t> /*output_size*/,
                        std::optional<double> scales_h, std::optional<double> scales_w, View& out) {
  if (out.numel() == 0) return;
  const Image from(self), to(out);
  const NearestShape s{from, to, {from, to, 2, scales_h}, {from, to, 3, scales_w}};
  switch (out.dtype.bits) {
    case 8:
      return upsample_nearest_as<std::uint8_t>(self, out, s);
    case 16:
      return upsample_nearest_as<std::uint16_t>(self, out, s);
    case 32:
      return upsample_nearest_as<std::uint32_t>(self, out, s);
    default:
      return upsample_nearest_as<std::uint64_t>(self, out, s);
  }
}

constexpr assay_kernel upsample_nearest2d_kernels[] = {
    ASSAY_CUDA(ops::upsample_nearest2d, upsample_nearest2d, nullptr)};
const Enrolled upsample_nearest2d_enrolled{upsample_nearest2d_kernels};

}  // namespace
}  // namespace assay::cuda
