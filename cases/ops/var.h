// Variance over dimensions.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator var_correction{
    .schema = parse_schema(
        "var.correction(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False) -> Tensor"),
    .formula =
        "sum((self - mean(self))^2) / max(n - correction, 0) over the n elements of the dimensions dim, all of them "
        "if none is named; correction is 1 if None",
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: axes(self); correction: natural",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "self.subnormal_as_zero: the squares of subnormal numbers are 0",
    .source = "torch.var",
};

}  // namespace assay::ops
