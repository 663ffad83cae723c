// Normalisation of groups of channels: the channels of a group are the rows of normalise.h, each with one weight.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/group_norm.cpp"
#include "levels.h"

#include "../geometry/split.h"
#include "normalise.h"
#include "ops/group_norm.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

void native_group_norm(const View& input, const View* weight, const View* bias, std::int64_t, std::int64_t,
                       std::int64_t HxW, std::int64_t group, double eps, View& out, View& mean, View& rstd) {
  const SplitView from(input, 1, group), to(out, 1, group);
  normalise({.input = from.view(),
             .out = to.view(),
             .first = 2,
             .mean = mean,
             .rstd = rstd,
             .weight = weight,
             .bias = bias,
             .sharing = HxW,
             .period = group,
             .eps = eps});
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::native_group_norm, native_group_norm, ASSAY_CPU_CHAINS)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
