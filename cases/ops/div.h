// Division of tensors, and its quotient as an integer.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator div_tensor{
    .schema = parse_schema("div.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self / other",
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .source = "torch.div",
};

// "floor" is Python's //: of an infinite self NaN, and -1 where a small negative quotient has an infinite divisor.
inline constexpr Operator div_tensor_mode{
    .schema = parse_schema("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    .formula = "self / other, or trunc(self / other), or floor(self / other) as Python's self // other",
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .domains = "rounding_mode: one_of(trunc, floor)",
    .properties = kElementwise,
    .in_place = "self",
    .source = "torch.div",
};

}  // namespace assay::ops
