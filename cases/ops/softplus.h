// Softplus: a smooth rectified linear unit.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator softplus{
    .schema = parse_schema("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"),
    .formula = "beta * self > threshold ? self : log(1 + exp(beta * self)) / beta",
    .shapes = "self=[*] -> [*]",
    .domains = "beta: real; threshold: real",
    .properties = kElementwise,
    .kinks = "20",
    .ranges = "self: -2..2, 0..21, -104..0, -746..0",
    .in_place = "self",
    .source = "torch.nn.functional.softplus",
};

}  // namespace assay::ops
