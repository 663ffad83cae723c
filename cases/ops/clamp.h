// Numbers brought between two bounds.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator clamp{
    .schema = parse_schema("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    .formula = "min(max(self, min), max), a bound that is None left out",
    .shapes = "self=[*] -> [*]",
    .domains = "min: real; max: real unless min",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .in_place = "self",
    .source = "torch.clamp",
};

}  // namespace assay::ops
