// Normalisation of the last dimensions: rows with a weight for each of their elements (normalise.h).
#include "ops/layer_norm.h"

#include "contracts.h"
#include "normalise.h"

namespace assay::cuda {
namespace {

void native_layer_norm(const View& input, std::span<const std::int64_t> normalized_shape, const View* weight,
                       const View* bias, double eps, View& out, View& mean, View& rstd) {
  if (input.rank() > cpu::kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
  const int first = input.rank() - static_cast<int>(normalized_shape.size());
  const Weights weights(weight, input, first), biases(bias, input, first);
  normalise(input, weights.view(), biases.view(), first, eps, out, leading(mean, first),
            leading(rstd, first));
}

constexpr const char* kLayerNormContract = ASSAY_CUDA_SUM_OF_ROW "\n" ASSAY_CUDA_ROWS;
constexpr assay_kernel layer_norm_kernels[] = {
    ASSAY_CUDA(ops::native_layer_norm, native_layer_norm, kLayerNormContract)};
const Enrolled layer_norm_enrolled{layer_norm_kernels};

}  // namespace
}  // namespace assay::cuda
