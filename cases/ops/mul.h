// Multiplication of tensors.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator mul_tensor{
    .schema = parse_schema("mul.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self * other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.mul",
};

}  // namespace assay::ops
