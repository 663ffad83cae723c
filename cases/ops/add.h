// Addition and subtraction of tensors, with a factor.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator add_tensor{
    .schema = parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    .formula = "self + alpha * other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .domains = "alpha: real",
    .properties = kElementwise,
    .in_place = "self",
    .source = "torch.add",
};

inline constexpr Operator sub_tensor{
    .schema = parse_schema("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    .formula = "self - alpha * other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .domains = "alpha: real",
    .properties = kElementwise,
    .in_place = "self",
    .source = "torch.sub",
};

}  // namespace assay::ops
