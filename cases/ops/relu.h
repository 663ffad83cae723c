// Rectified linear unit, and with a slope for negative numbers.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator relu{
    .schema = parse_schema("relu(Tensor self) -> Tensor"),
    .formula = "self < 0 ? 0 : self",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0",
    .in_place = "self",
    .source = "torch.nn.functional.relu; Nair & Hinton 2010",
};

inline constexpr Operator leaky_relu{
    .schema = parse_schema("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"),
    .formula = "self > 0 ? self : negative_slope * self",
    .shapes = "self=[*] -> [*]",
    .domains = "negative_slope: real",
    .properties = kElementwise,
    .kinks = "0",
    .in_place = "self",
    .source = "torch.nn.functional.leaky_relu; Maas et al. 2013",
};

}  // namespace assay::ops
