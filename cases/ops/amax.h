// The largest number over dimensions, and where it is.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator amax{
    .schema = parse_schema("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"),
    .formula =
        "the largest number of self over the dimensions dim, all of them if none is named; NaN if there is one; 0 is "
        "larger than -0",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: filled_axes(self)",
    .source = "torch.amax; IEEE 754-2019, 9.6, maximum",
};

inline constexpr Operator argmax{
    .schema = parse_schema("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    .formula =
        "the first index in dimension dim, or in row-major order, of NaN, if there is one, or of the largest number",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .positions = 1,
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: filled_axis(self)",
    .unobservable = "results.in_half_the_bits: places beyond 2^31 take gigabytes",
    .source = "torch.argmax",
};

}  // namespace assay::ops
