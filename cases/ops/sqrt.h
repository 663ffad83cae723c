// Square root, and its reciprocal.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator sqrt{
    .schema = parse_schema("sqrt(Tensor self) -> Tensor"),
    .formula = "sqrt(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..4, 0..1000",
    .in_place = "self",
    .unobservable = "results.subnormal_as_zero: the formula never gives a subnormal number",
    .source = "torch.sqrt",
};

inline constexpr Operator rsqrt{
    .schema = parse_schema("rsqrt(Tensor self) -> Tensor"),
    .formula = "1 / sqrt(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..4, 0..1000",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "results.small_as_zero (f16): the largest number gives more than 2^-10",
    .source = "torch.rsqrt",
};

}  // namespace assay::ops
