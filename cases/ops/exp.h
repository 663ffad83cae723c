// Exponential function.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator exp{
    .schema = parse_schema("exp(Tensor self) -> Tensor"),
    .formula = "exp(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -104..89, -88..-87, 0..1, -18..12, -746..710",
    .in_place = "self",
    .source = "torch.exp",
};

}  // namespace assay::ops
