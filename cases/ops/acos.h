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
    .source = "torch.acos",
};

}  // namespace assay::ops
