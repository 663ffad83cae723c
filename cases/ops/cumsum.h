// Cumulative sum along one dimension.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator cumsum{
    .schema = parse_schema("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    .formula = "out[k] = self[0] + ... + self[k] along dim",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [*]",
    .domains = "dim: axis(self); dtype: dtype",
    .properties = kRowwise,
    .unobservable =
        "results.negative_zero_lost: whether a sum begins with a zero is left to the kernel, and so is the "
        "sign of a sum of zeros",
    .source = "torch.cumsum",
};

}  // namespace assay::ops
