// Exponential function.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator exp{
    .schema = parse_schema("exp(Tensor self) -> Tensor"),
    .formula = "exp(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -104..89, -88..-87, 0..1, -18..12, -746..710",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "self.small_as_zero (bf16): the function rounds to what it is at 0; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "self.subnormal_as_zero: the function rounds to what it is at 0",
    .source = "torch.exp",
};

}  // namespace assay::ops
