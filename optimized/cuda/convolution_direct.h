// Convolution, a thread for each element of the output: for groups of one channel, whose products have no rows to share,
// for integers and for windows of any number of dimensions.
//
// Terms are in the order of the matrix products (gemm.h), taps and, within a tap, channels, but without those around the
// image; chunks of kDirectChunk of them are summed one by one, and then their sums.
#pragma once

#include "convolution_places.h"
#include "gemm_operand.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kDirectChunk = 256;

struct DirectConvolution {
  const void* input;
  const void* weight;
  const void* bias;  // or null
  void* out;
  std::int64_t images, groups, inputs, outputs;  // channels of a group
  std::int64_t input_image, input_channel;       // strides
  std::int64_t weight_group, weight_output, weight_input;
  std::int64_t out_image, out_channel, bias_stride;
  bool channels_fast;  // neighbours in the output's memory are channels
};

// Element i of the output: which image, channel and position it is.
struct DirectPlace {
  std::int64_t image, channel, position;
};
__device__ __forceinline__ DirectPlace direct_place(const DirectConvolution& c, std::int64_t positions,
                                                    std::int64_t i) {
  const std::int64_t channels = c.groups * c.outputs;
  if (c.channels_fast) return {i / channels / positions, i % channels, i / channels % positions};
  return {i / positions / channels, i / positions % channels, i % positions};
}

// A sum as it is built up: of chunks.
template <class T>
struct DirectSum {
  using C = GemmSum<T>;
  C sum = 0, total = 0;
  int terms = 0;

  __device__ __forceinline__ void add(T x, T w) {
    if (terms == kDirectChunk) {
      total += sum;
      sum = 0;
      terms = 0;
    }
    ++terms;
    if constexpr (is_integer<T>)
      sum += static_cast<C>(x) * static_cast<C>(w);
    else
      sum = fused(widened(x), widened(w), sum);
  }
  __device__ __forceinline__ void store(const DirectConvolution& c, std::int64_t channel,
                                        std::int64_t to) const {
    C y = total + sum;
    T& place = static_cast<T*>(c.out)[to];
    if constexpr (is_integer<T>) {
      if (c.bias != nullptr) y += static_cast<C>(static_cast<const T*>(c.bias)[channel * c.bias_stride]);
      place = static_cast<T>(y);
    } else {
      if (c.bias != nullptr) y += widened(static_cast<const T*>(c.bias)[channel * c.bias_stride]);
      place = narrowed<T>(y);
    }
  }
};

// Budget: 56 registers, 3.09 sectors.
template <class T>
__global__ void convolution_direct_kernel(DirectConvolution c, WindowMoves m) {
  const std::int64_t count = c.images * c.groups * c.outputs * m.positions;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    const DirectPlace place = direct_place(c, m.positions, i);
    const std::int64_t group = place.channel / c.outputs;
    const T* const from =
        static_cast<const T*>(c.input) + place.image * c.input_image + group * c.inputs * c.input_channel;
    const T* const by = static_cast<const T*>(c.weight) + group * c.weight_group +
                        (place.channel - group * c.outputs) * c.weight_output + m.weight_first;
    std::int64_t to = place.image * c.out_image + place.channel * c.out_channel + m.out_first;
    std::int64_t start[kWindowDims];  // in the image, of the first tap
    std::int64_t position = place.position;
    for (int d = m.dims - 1; d >= 0; --d) {
      const WindowDim& w = m.dim[d];
      const std::int64_t at = position % w.positions;
      position /= w.positions;
      start[d] = at * w.step + w.first_tap;
      to += at * w.out_stride;
    }
    DirectSum<T> sum;
    for (std::int64_t t = 0; t < m.taps; ++t) {
      std::int64_t tap = t, see = 0, factor = 0;
      bool inside = true;
      for (int d = m.dims - 1; d >= 0; --d) {
        const WindowDim& w = m.dim[d];
        const std::int64_t left = d == 0 ? 0 : tap / w.taps, r = tap - left * w.taps;
        const std::int64_t at = start[d] + r * w.tap_step;
        inside = inside && at >= 0 && at < w.size;
        see += at * w.image_stride;
        factor += r * w.weight_stride;
        tap = left;
      }
      if (!inside) continue;
      for (std::int64_t k = 0; k < c.inputs; ++k)
        sum.add(from[see + k * c.input_channel], by[factor + k * c.weight_input]);
    }
    sum.store(c, place.channel, to);
  }
}

// The same for groups of one channel and at most two dimensions: nothing is divided within the window.
// Budget: 96 registers, 3.84 sectors.
template <class T>
__global__ void convolution_planar_kernel(DirectConvolution c, WindowMoves m, WindowDim rows,
                                          WindowDim columns) {
  const std::int64_t count = c.images * c.groups * c.outputs * m.positions;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    const DirectPlace place = direct_place(c, m.positions, i);
    const std::int64_t group = place.channel / c.outputs;
    const std::int64_t row = place.position / columns.positions;
    const std::int64_t column = place.position - row * columns.positions;
    const std::int64_t y = row * rows.step + rows.first_tap, x = column * columns.step + columns.first_tap;
    const T* const from = static_cast<const T*>(c.input) + place.image * c.input_image +
                          group * c.input_channel + y * rows.image_stride + x * columns.image_stride;
    const T* const by = static_cast<const T*>(c.weight) + group * c.weight_group +
                        (place.channel - group * c.outputs) * c.weight_output + m.weight_first;
    DirectSum<T> sum;
    for (std::int64_t r = 0; r < rows.taps; ++r) {
      const std::int64_t at = y + r * rows.tap_step;
      if (at < 0 || at >= rows.size) continue;
      for (std::int64_t s = 0; s < columns.taps; ++s) {
        const std::int64_t beside = x + s * columns.tap_step;
        if (beside < 0 || beside >= columns.size) continue;
        sum.add(from[r * rows.tap_step * rows.image_stride + s * columns.tap_step * columns.image_stride],
                by[r * rows.weight_stride + s * columns.weight_stride]);
      }
    }
    sum.store(c, place.channel,
              place.image * c.out_image + place.channel * c.out_channel + m.out_first +
                  row * rows.out_stride + column * columns.out_stride);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
