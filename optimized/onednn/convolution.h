// What oneDNN's convolution and deconvolution primitives and their gradients are told, and what they promise.
#pragma once

#include <span>

#include "operation.h"

namespace assay::onednn {

// key.numbers: strides, dilations less one, padding before, padding after; each for every dimension of the image.
struct WindowNumbers {
  explicit WindowNumbers(const PrimitiveKey& key) : all(key.numbers) {}
  dnnl::memory::dims part(std::size_t i) const {
    const auto n = static_cast<std::ptrdiff_t>(all.size() / 4);
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(i) * n;
    return {from, from + n};
  }
  const std::vector<std::int64_t>& all;
};

// The same for both primitives and their gradients. `out` is what the forward one gives.
std::vector<std::int64_t> window_numbers(const View& input, const View& weight, const View& out,
                                         std::span<const std::int64_t> stride,
                                         std::span<const std::int64_t> padding,
                                         std::span<const std::int64_t> dilation, bool transposed);

// [groups, outputs, inputs, window] of a weight whose outputs are its first dimension, or, transposed, its second.
Descriptor grouped_weights(const View& weight, std::int64_t groups, bool transposed);

inline constexpr std::string_view kConvolutionRows =
    "row_invariant=no -- oneDNN src/cpu/gemm_convolution_utils.cpp: blocks and threads depend on the batch";
inline constexpr std::string_view kConvolutionThreads =
    "thread_invariant=no -- github.com/oneapi-src/oneDNN/issues/1443: no guarantee when the number of "
    "threads changes";
inline constexpr std::string_view kConvolutionDispatch =
    "layout_invariant=no -- oneDNN src/cpu/cpu_convolution_list.cpp: jit, gemm or ref, by what each one's init "
    "accepts";
inline constexpr std::string_view kConvolutionFlushed =
    "bf16: ftz=yes daz=yes -- VDPBF16PS (Intel SDM): output denormals are always flushed to zero and input "
    "denormals are always treated as zero";
inline constexpr auto kConvolution = kJoined<kConvolutionRows, kConvolutionThreads, kConvolutionDispatch>;
inline constexpr auto kNativeBf16Convolution =
    kJoined<kConvolutionRows, kConvolutionThreads, kConvolutionDispatch, kConvolutionFlushed>;

}  // namespace assay::onednn
