// Arc cosine.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator acos{
    .schema = parse_schema("acos(Tensor self) -> Tensor"),
    .formula = "acos(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, -0.5..0.5, 0.5..1",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "results.infinity_as_*: the formula is never infinite; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "results.small_as_zero (f16 bf16): between 0 and 2^-10 the formula gives no number; "
        "self.small_as_zero (bf16): the function rounds to what it is at 0; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "self.subnormal_as_zero (f64 f32 bf16): the function rounds to what it is at 0",
    .source = "torch.acos",
};

}  // namespace assay::ops
