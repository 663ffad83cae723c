// Natural logarithm.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator log{
    .schema = parse_schema("log(Tensor self) -> Tensor"),
    .formula = "log(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..1, 1..2, 0..1000",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "results.small_as_zero (bf16): numbers next to 1 have logarithms above 2^-10",
    .source = "torch.log",
};

}  // namespace assay::ops
