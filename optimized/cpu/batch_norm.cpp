// Normalisation of channels: all elements of a channel are a row of normalise.h, with one weight.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/batch_norm.cpp"
#include "levels.h"

#include <algorithm>

#include "channels_first.h"
#include "normalise.h"
#include "ops/batch_norm.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

void native_batch_norm(const View& input, const View* weight, const View* bias, const View* running_mean,
                       const View* running_var, bool training, double, double eps, View& out, View& mean,
                       View& rstd) {
  const ChannelsFirst from(input), to(out);
  const std::int64_t channels = std::max<std::int64_t>(input.size(1), 1);
  normalise({.input = from.view(),
             .out = to.view(),
             .first = 1,
             .mean = training ? mean : *running_mean,
             .rstd = training ? rstd : *running_var,
             .given = !training,
             .weight = weight,
             .bias = bias,
             .sharing = input.numel() / channels,
             .period = channels,
             .eps = eps});
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract = "chain=blocked(16) -- optimized/cpu/chains.h: sixteen chains, then a tree";
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::native_batch_norm, native_batch_norm, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
