// The logistic function, and its product with the argument.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator sigmoid{
    .schema = parse_schema("sigmoid(Tensor self) -> Tensor"),
    .formula = "1 / (1 + exp(-self))",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -6..6, -89..104, -12..18, -710..746",
    .in_place = "self",
    .source = "torch.sigmoid",
};

inline constexpr Operator silu{
    .schema = parse_schema("silu(Tensor self) -> Tensor"),
    .formula = "self / (1 + exp(-self))",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -6..6, -89..104, -12..18, -710..746",
    .in_place = "self",
    .source = "torch.nn.functional.silu; Hendrycks & Gimpel 2016",
};

}  // namespace assay::ops
