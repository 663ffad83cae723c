// Error function.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator erf{
    .schema = parse_schema("erf(Tensor self) -> Tensor"),
    .formula = "erf(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, 0..4, -6..0",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides "
        "of 0",
    .source = "torch.erf",
};

}  // namespace assay::ops
