// Hard swish.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator hardswish{
    .schema = parse_schema("hardswish(Tensor self) -> Tensor"),
    .formula = "self * min(max(self + 3, 0), 6) / 6",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .kinks = "-3, 0, 3",
    .ranges = "self: -4..4",
    .in_place = "self",
    .source = "torch.nn.functional.hardswish; Howard et al. 2019",
};

}  // namespace assay::ops
