// softmax and log_softmax by cudnnSoftmaxForward, along its channels: the dimension becomes the second one,
// and all others, joined where strides allow it, the first one and those of an image.
#if __has_include(<cudnn.h>)

#include <optional>

#include "../contracts.h"
#include "cudnn_tensor.h"
#include "geometry/without.h"
#include "ops/softmax.h"

namespace assay::cuda::peers {
namespace {

// The dimension as the second one of what lies around it.
CudnnShape around(const cpu::Space& others, std::size_t operand, std::int64_t size, std::int64_t stride) {
  CudnnShape shape = of_space(others, operand);
  // Of dimensions of size 1 that were put before the others only as many are of use as there is room for.
  while (shape.rank() > others.rank && shape.rank() > 3) {
    shape.sizes.erase(shape.sizes.begin());
    shape.strides.erase(shape.strides.begin());
  }
  shape.sizes.insert(shape.sizes.begin() + 1, size);
  shape.strides.insert(shape.strides.begin() + 1, stride);
  return shape;
}

template <cudnnSoftmaxAlgorithm_t algorithm>
void softmax(const View& self, std::int64_t dim, std::optional<Dtype> /*dtype*/, View& out) {
  if (nothing_to_do(out)) return;
  const Dtype type = out.type();
  if (self.type() != type) throw Refused("cuDNN's softmax converts nothing, and dtype is not that of self");
  const int at = static_cast<int>(dim < 0 ? dim + self.rank() : dim);
  const View* const views[] = {&out, &self};
  const cpu::Space others = cpu::space_without(at, views, 2);
  const std::int64_t size = self.rank() == 0 ? 1 : self.size(at);
  const auto shape = [&](std::size_t operand, const View& v) {
    return around(others, operand, size, size == 1 ? 1 : v.stride(at));
  };
  const CudnnTensor from = describe(shape(1, self), type, "self"),
                    to = describe(shape(0, out), type, "the result");
  if (asks_only()) return;
  const CudnnFactors by = factors(type);
  require(cudnn().cudnnSoftmaxForward(cudnn_handle(), algorithm, CUDNN_SOFTMAX_MODE_CHANNEL, by.one,
                                      from.get(), self.data, by.zero, to.get(), out.data),
          "computing softmax");
  say_information(cudnn_information("softmax"));
}

constexpr const char* kContract =
    "layout_invariant=no row_invariant=no -- cuDNN API reference, cudnnSoftmaxForward: \"Performance is "
    "expected to be highest with NCHW fully-packed tensors\", which take a kernel of their own\n" ASSAY_CUDA_EXP
    "\n" ASSAY_CUDA_LOG;
constexpr const char* kSource = "optimized/cuda/peers/cudnn_softmax.cu";

constexpr assay_kernel kernels[] = {
    peer<ops::softmax_int, softmax<CUDNN_SOFTMAX_ACCURATE>>("cudnn", no_cudnn, kContract, kSource),
    peer<ops::log_softmax_int, softmax<CUDNN_SOFTMAX_LOG>>("cudnn", no_cudnn, kContract, kSource)};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::cuda::peers

#endif
