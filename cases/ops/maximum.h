// The larger of two numbers; NaN where either is.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator maximum{
    .schema = parse_schema("maximum(Tensor self, Tensor other) -> Tensor"),
    .formula = "max(self, other)",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.maximum; IEEE 754-2019, 9.6",
};

}  // namespace assay::ops
