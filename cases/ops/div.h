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

// "floor" is Python's //: of an infinite self NaN, and -1 where a small negative quotient has an infinite divisor. Integers
// are not divided by 0, which is an error in ATen, too; the least number by -1 wraps, where ATen traps for i32 and i64.
// Without a mode ATen makes f32 of them.
inline constexpr Operator div_tensor_mode{
    .schema = parse_schema("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    .formula = "self / other, or trunc(self / other), or floor(self / other) as Python's self // other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .domains = "other: nonzero; rounding_mode: one_of(trunc, floor) for integers",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "rounding_mode.always_* (u8): of numbers without sign, trunc is floor",
    .source = "torch.div",
};

}  // namespace assay::ops
