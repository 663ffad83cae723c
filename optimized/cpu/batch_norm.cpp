// Normalisation of channels: all elements of a channel are a row of normalise.h, with one weight.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/batch_norm.cpp"
#include "levels.h"

#include <algorithm>

#include "channels_first.h"
#include "copy.h"
#include "normalise.h"
#include "ops/batch_norm.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

void run(const View& input, const View* weight, const View* bias, const View* running_mean,
         const View* running_var, bool training, double eps, View& out, View& mean, View& rstd,
         const RunningStatistics* running) {
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
             .eps = eps,
             .running = running});
}

void native_batch_norm(const View& input, const View* weight, const View* bias, const View* running_mean,
                       const View* running_var, bool training, double, double eps, View& out, View& mean,
                       View& rstd) {
  run(input, weight, bias, running_mean, running_var, training, eps, out, mean, rstd, nullptr);
}

void copy_numbers(const View& from, View& to) {
  ASSAY_CPU_WITH_ELEMENT(
      from.type(), T, copy_row(to.as<T>(), to.stride(0), from.as<const T>(), from.stride(0), from.size(0)));
}

void functional(const View& input, const View* weight, const View* bias, const View& running_mean,
                const View& running_var, bool training, double momentum, double eps, View& out, View& mean,
                View& rstd, View& running_mean_out, View& running_var_out) {
  const RunningStatistics running{running_mean, running_var, running_mean_out, running_var_out, momentum};
  run(input, weight, bias, &running_mean, &running_var, training, eps, out, mean, rstd, &running);
  if (training) return;
  copy_numbers(running_mean, running_mean_out);
  copy_numbers(running_var, running_var_out);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::native_batch_norm, native_batch_norm, ASSAY_CPU_CHAINS),
    ASSAY_CPU_LEVELS(ops::native_batch_norm_legit_functional, functional, ASSAY_CPU_CHAINS)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
