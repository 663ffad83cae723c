// max_pool2d and avg_pool2d by cudnnPoolingForward. It gives no places, so max_pool2d_with_indices is not
// here.
#if __has_include(<cudnn.h>)

#include <optional>

#include "cudnn_tensor.h"
#include "ops/avg_pool2d.h"
#include "ops/max_pool2d.h"

namespace assay::cuda::peers {
namespace {

using Numbers = std::span<const std::int64_t>;
constexpr int kDims = 2;

struct Windows {
  std::vector<int> size, stride, padding;
};

Windows windows(Numbers kernel_size, Numbers stride, Numbers padding) {
  return {per_dimension(kernel_size, kDims, "kernel_size"),
          per_dimension(stride.empty() ? kernel_size : stride, kDims, "stride"),
          per_dimension(padding, kDims, "padding")};
}

// cuDNN knows the windows that lie within image and padding; ceil_mode may add one.
void only_whole_windows(const View& self, const View& out, const Windows& w) {
  for (int d = 0; d < kDims; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const int at = self.rank() - kDims + d;
    if ((out.size(at) - 1) * w.stride[i] + w.size[i] > self.size(at) + 2 * w.padding[i])
      throw Refused("cuDNN has no windows that reach beyond the padding, and ceil_mode adds one here");
  }
}

void pool(cudnnPoolingMode_t mode, const View& self, const Windows& w, View& out) {
  if (nothing_to_do(out)) return;
  only_whole_windows(self, out, w);
  const Dtype type = out.type();
  const bool batched = self.rank() == kDims + 2;
  const CudnnTensor from = describe(image(self, batched), type, "self"),
                    to = describe(image(out, batched), type, "the result");
  const CudnnPooling pooling =
      create<CudnnPooling>(cudnn().cudnnCreatePoolingDescriptor, "describing a pooling");
  require(cudnn().cudnnSetPoolingNdDescriptor(pooling.get(), mode, CUDNN_PROPAGATE_NAN, kDims, w.size.data(),
                                              w.padding.data(), w.stride.data()),
          "describing a pooling");
  if (asks_only()) return;
  const CudnnFactors by = factors(type);
  require(cudnn().cudnnPoolingForward(cudnn_handle(), pooling.get(), by.one, from.get(), self.data, by.zero,
                                      to.get(), out.data),
          "pooling");
  say_information(cudnn_information("pooling"));
}

void max_pool2d(const View& self, Numbers kernel_size, Numbers stride, Numbers padding, Numbers dilation,
                bool /*ceil_mode*/, View& out) {
  for (const std::int64_t d : dilation)
    if (d != 1) throw Refused("cuDNN's windows have no dilation");
  pool(CUDNN_POOLING_MAX, self, windows(kernel_size, stride, padding), out);
}

void avg_pool2d(const View& self, Numbers kernel_size, Numbers stride, Numbers padding, bool /*ceil_mode*/,
                bool count_include_pad, std::optional<std::int64_t> divisor_override, View& out) {
  if (divisor_override)
    throw Refused("cuDNN divides by numbers of elements alone, and divisor_override is given");
  pool(count_include_pad ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                         : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING,
       self, windows(kernel_size, stride, padding), out);
}

constexpr const char* kSource = "optimized/cuda/peers/cudnn_pooling.cu";

constexpr assay_kernel kernels[] = {peer<ops::max_pool2d, max_pool2d>("cudnn", no_cudnn, nullptr, kSource),
                                    peer<ops::avg_pool2d, avg_pool2d>("cudnn", no_cudnn, nullptr, kSource)};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::cuda::peers

#endif
