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
    .source = "torch.erf",
};

}  // namespace assay::ops
