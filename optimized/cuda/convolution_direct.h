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

template <class T>
__global__ void convolution_direct_kernel(DirectConvolution c, WindowMoves m) {
  using C = GemmSum<T>;
  const std::int64_t channels = c.groups * c.outputs, count = c.images * channels * m.positions;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    std::int64_t rest = i, channel, position;
    if (c.channels_fast) {
      channel = rest % channels;
      rest /= channels;
      position = rest % m.positions;
      rest /= m.positions;
    } else {
      position = rest % m.positions;
      rest /= m.positions;
      channel = rest % channels;
      rest /= channels;
    }
    const std::int64_t group = channel / c.outputs;
    const T* const from =
        static_cast<const T*>(c.input) + rest * c.input_image + group * c.inputs * c.input_channel;
    const T* const by = static_cast<const T*>(c.weight) + group * c.weight_group +
                        (channel - group * c.outputs) * c.weight_output + m.weight_first;
    std::int64_t to = rest * c.out_image + channel * c.out_channel + m.out_first;
    std::int64_t start[kWindowDims];  // in the image, of the first tap
    for (int d = m.dims - 1; d >= 0; --d) {
      const WindowDim& w = m.dim[d];
      const std::int64_t at = position % w.positions;
      position /= w.positions;
      start[d] = at * w.step + w.first_tap;
      to += at * w.out_stride;
    }

    C sum = 0, total = 0;
    int terms = 0;
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
      for (std::int64_t k = 0; k < c.inputs; ++k) {
        if (terms == kDirectChunk) {
          total += sum;
          sum = 0;
          terms = 0;
        }
        ++terms;
        const T x = from[see + k * c.input_channel], w = by[factor + k * c.weight_input];
        if constexpr (is_integer<T>)
          sum += static_cast<C>(x) * static_cast<C>(w);
        else
          sum = fused(widened(x), widened(w), sum);
      }
    }
    total += sum;
    if constexpr (is_integer<T>) {
      if (c.bias != nullptr) total += static_cast<C>(static_cast<const T*>(c.bias)[channel * c.bias_stride]);
      static_cast<T*>(c.out)[to] = static_cast<T>(total);
    } else {
      if (c.bias != nullptr) total += widened(static_cast<const T*>(c.bias)[channel * c.bias_stride]);
      static_cast<T*>(c.out)[to] = narrowed<T>(total);
    }
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
