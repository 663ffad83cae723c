// Sums over the positions of all images, a block or several for each: gradients of biases, and of the weights of groups of
// one channel or of windows of any number of dimensions.
//
//   out[a, b, tap] = sum over n, p of from[n, a, p] * image[n, b, what tap sees from p];  or  out[a] = sum of from[n, a, p]
//
// The order of accumulation: positions are cut into slices by their number alone. Within one, a thread sums every
// kPositionThreads-th position, in chunks of kPositionChunk; threads are added up in a tree, and slices in order.
#pragma once

#include "convolution_places.h"
#include "gemm_operand.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kPositionThreads = 256;
inline constexpr int kPositionChunk = 256;
inline constexpr std::int64_t kPositionSlice = 1 << 14;  // at least, of which there are at most as many as
inline constexpr std::int64_t kPositionSlices = 64;

struct PositionSums {
  const void* from;
  const void* image;                                                          // or null
  std::int64_t images, from_image, from_channel, image_image, image_channel;  // strides
  std::int64_t rows;                                                          // channels a of a group
  std::int64_t columns;                                                       // channels b of a group
  std::int64_t slices, slice;
};

template <class T>
__device__ inline Compute<T> position_term(const PositionSums& s, const WindowMoves& m, std::int64_t i,
                                           std::int64_t a, std::int64_t b, std::int64_t tap) {
  const std::int64_t n = i / m.positions;
  std::int64_t p = i - n * m.positions;
  std::int64_t from = n * s.from_image + a * s.from_channel, see = n * s.image_image + b * s.image_channel;
  bool inside = true;
  for (int d = m.dims - 1; d >= 0; --d) {
    const WindowDim& w = m.dim[d];
    const std::int64_t left = d == 0 ? 0 : p / w.positions, c = p - left * w.positions;
    const std::int64_t left_tap = tap / w.taps, r = tap - left_tap * w.taps;
    const std::int64_t at = c * w.step + w.first_tap + r * w.tap_step;
    inside = inside && at >= 0 && at < w.size;
    from += c * w.out_stride;
    see += at * w.image_stride;
    p = left;
    tap = left_tap;
  }
  if (!inside) return 0;
  const Compute<T> x = widened(static_cast<const T*>(s.from)[from]);
  return s.image == nullptr ? x : x * widened(static_cast<const T*>(s.image)[see]);
}

// partial[element][slice]
// Budget: 60 registers, 1.00 sectors, 1.00 passes.
template <class T>
__global__ void __launch_bounds__(kPositionThreads)
    position_sums_kernel(PositionSums s, WindowMoves m, Compute<T>* partial) {
  using C = Compute<T>;
  ASSAY_SHARED(C, of_warp, [kPositionThreads / kWarpSize]);
  const std::int64_t element = blockIdx.x / s.slices, slice = blockIdx.x - element * s.slices;
  const std::int64_t tap = element % m.taps, b_of_group = element / m.taps % s.columns;
  const std::int64_t a = element / m.taps / s.columns, b = a / s.rows * s.columns + b_of_group;
  const std::int64_t count = s.images * m.positions;
  const std::int64_t begin = slice * s.slice, end = begin + s.slice < count ? begin + s.slice : count;
  C sum = 0, total = 0;
  int terms = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kPositionThreads) {
    if (terms == kPositionChunk) {
      total += sum;
      sum = 0;
      terms = 0;
    }
    ++terms;
    sum += position_term<T>(s, m, i, a, b, tap);
  }
  total += sum;
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2)
    total += __shfl_down_sync(~0u, total, distance);
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize,
            warp = static_cast<int>(threadIdx.x) / kWarpSize;
  if (lane == 0) of_warp[warp] = total;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kPositionThreads / kWarpSize; ++w) total += of_warp[w];
  partial[blockIdx.x] = total;
}

// Element [a, b, tap] of the result lies at a row_stride + b column_stride, and where the tap lies in a weight.
// Budget: 40 registers, 1.00 sectors, 1.00 passes.
template <class T>
__global__ void position_totals_kernel(const Compute<T>* partial, std::int64_t slices, std::int64_t count,
                                       std::int64_t columns, WindowMoves m, std::int64_t row_stride,
                                       std::int64_t column_stride, T* out) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    Compute<T> total = partial[i * slices];
    for (std::int64_t s = 1; s < slices; ++s) total += partial[i * slices + s];
    std::int64_t tap = i % m.taps, to = m.weight_first;
    const std::int64_t b = i / m.taps % columns, a = i / m.taps / columns;
    for (int d = m.dims - 1; d >= 0; --d) {
      to += tap % m.dim[d].taps * m.dim[d].weight_stride;
      tap /= m.dim[d].taps;
    }
    out[a * row_stride + b * column_stride + to] = narrowed<T>(total);
  }
}

// `channels` are those of `from`; strides those of a and b in `out`.
template <class T>
void sum_positions(PositionSums s, const WindowMoves& m, std::int64_t channels, std::int64_t out_row,
                   std::int64_t out_column, void* out) {
  const std::int64_t elements = channels * s.columns * m.taps, count = s.images * m.positions;
  s.slices = (count + kPositionSlice - 1) / kPositionSlice;
  s.slices = s.slices < 1 ? 1 : s.slices > kPositionSlices ? kPositionSlices : s.slices;
  s.slice = (count + s.slices - 1) / s.slices;
  if (elements * s.slices > 0x7fffffff) throw Refused("gradients of more than 2^31 parts are not supported");
  Scratch<Compute<T>> partial(elements * s.slices);
  launch<position_sums_kernel<T>>(dim3(static_cast<unsigned>(elements * s.slices)), kPositionThreads, 0, s, m,
                                  partial.data());
  launch<position_totals_kernel<T>>(blocks_for(elements, 256), 256, 0, partial.data(), s.slices, elements,
                                    s.columns, m, out_row, out_column, static_cast<T*>(out));
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
