// Normalisation of the last dimensions: rows with a weight for each of their elements (normalise.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/layer_norm.cpp"
#include "levels.h"

#include "normalise.h"
#include "ops/layer_norm.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

void native_layer_norm(const View& input, std::span<const std::int64_t> normalized_shape, const View* weight,
                       const View* bias, double eps, View& out, View& mean, View& rstd) {
  const int first = input.rank() - static_cast<int>(normalized_shape.size());
  normalise({.input = input,
             .out = out,
             .first = first,
             .mean = leading(mean, first),
             .rstd = leading(rstd, first),
             .weight = weight,
             .bias = bias,
             .eps = eps});
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::native_layer_norm, native_layer_norm, ASSAY_CPU_CHAINS)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
