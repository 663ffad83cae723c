// The mean of each window of an image.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// With ceil_mode a window may reach beyond the padding: what lies there is never counted. Sums of i64 are divided towards zero;
// other integers ATen does not have.
inline constexpr Operator avg_pool2d{
    .schema = parse_schema(
        "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
        "bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
    .formula =
        "out[..., o] = sum over r within kernel_size of self[..., o*stride - padding + r] / n; n = divisor_override, or "
        "how many these are, those in the padding counted if count_include_pad",
    .dtypes = kFloatingPoint | only(Dtype::i64),
    .in_integers = true,
    .shapes = "self=[N,C,H,W] -> [N,C,pooled(H,W)]; self=[C,H,W] -> [C,pooled(H,W)]",
    .domains = "kernel_size: window; stride: positives; padding: naturals; divisor_override: nonzero",
    .properties = kRowIndependent,
    .source = "torch.nn.functional.avg_pool2d; ATen native/cpu/AvgPoolKernel.cpp",
};

}  // namespace assay::ops
