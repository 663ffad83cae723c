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
    .source = "torch.sqrt",
};

inline constexpr Operator rsqrt{
    .schema = parse_schema("rsqrt(Tensor self) -> Tensor"),
    .formula = "1 / sqrt(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..4, 0..1000",
    .in_place = "self",
    .source = "torch.rsqrt",
};

}  // namespace assay::ops
