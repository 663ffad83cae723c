// Normalisation of groups of channels: the channels of a group are the rows of normalise.h, each with one weight.
#include "ops/group_norm.h"

#include "contracts.h"
#include "geometry/split.h"
#include "normalise.h"

namespace assay::cuda {
namespace {

void native_group_norm(const View& input, const View* weight, const View* bias, std::int64_t, std::int64_t,
                       std::int64_t, std::int64_t group, double eps, View& out, View& mean, View& rstd) {
  const cpu::SplitView from(input, 1, group), to(out, 1, group);
  std::optional<cpu::SplitView> weight_of, bias_of;
  if (weight != nullptr) weight_of.emplace(*weight, 0, group);
  if (bias != nullptr) bias_of.emplace(*bias, 0, group);
  const Weights weights(weight_of ? &weight_of->view() : nullptr, from.view(), 1);
  const Weights biases(bias_of ? &bias_of->view() : nullptr, from.view(), 1);
  normalise(from.view(), weights.view(), biases.view(), 2, eps, to.view(), mean, rstd);
}

constexpr const char* kGroupNormContract = ASSAY_CUDA_SUM_OF_ROW "\n" ASSAY_CUDA_ROWS;
constexpr assay_kernel group_norm_kernels[] = {
    ASSAY_CUDA(ops::native_group_norm, native_group_norm, kGroupNormContract)};
const Enrolled group_norm_enrolled{group_norm_kernels};

}  // namespace
}  // namespace assay::cuda
