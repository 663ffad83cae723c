// The largest number over dimensions.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator amax{
    .schema = parse_schema("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"),
    .formula =
        "the largest number of self over the dimensions dim, all of them if none is named; NaN if there is one",
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: filled_axes(self)",
    .source = "torch.amax; IEEE 754-2019, 9.6, maximum",
};

}  // namespace assay::ops
