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
    .source = "torch.cumsum",
};

}  // namespace assay::ops
