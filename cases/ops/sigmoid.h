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
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "results.infinity_as_*: the formula is never infinite; "
        "self.small_as_zero (bf16): the function rounds to what it is at 0; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "self.subnormal_as_zero: the function rounds to what it is at 0",
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
