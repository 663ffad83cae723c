// Exponential linear unit.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator elu{
    .schema =
        parse_schema("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"),
    .formula = "self > 0 ? scale * self : alpha * scale * (exp(input_scale * self) - 1)",
    .shapes = "self=[*] -> [*]",
    .domains = "alpha: real; scale: real; input_scale: real",
    .properties = kElementwise,
    .kinks = "0",
    .ranges = "self: -1..1, -20..0, -40..1",
    .in_place = "self",
    .source = "torch.nn.functional.elu; Clevert et al. 2016",
};

}  // namespace assay::ops
