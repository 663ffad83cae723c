// One of two numbers, as a condition says.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator where_self{
    .schema = parse_schema("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"),
    .formula = "condition ? self : other",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "condition=[*]~ self=[*]~ other=[*]~ -> [*]",
    .domains = "condition: boolean",
    .properties = kElementwise,
    .source = "torch.where",
};

inline constexpr Operator masked_fill_scalar{
    .schema = parse_schema("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"),
    .formula = "mask ? value : self",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .shapes = "self=[*]~ mask=[*]~ -> [*]",
    .domains = "mask: boolean; value: real",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "value.absolute (bool): truth has no sign",
    .source = "torch.Tensor.masked_fill",
};

}  // namespace assay::ops
