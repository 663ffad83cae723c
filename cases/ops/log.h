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
    .source = "torch.log",
};

}  // namespace assay::ops
