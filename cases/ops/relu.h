// Rectified linear unit.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator relu{
    .schema = parse_schema("relu(Tensor self) -> Tensor"),
    .formula = "self < 0 ? 0 : self",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0",
    .in_place = "self",
    .source = "torch.nn.functional.relu; Nair & Hinton 2010",
};

}  // namespace assay::ops
