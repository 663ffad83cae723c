// Integers bit by bit, and truth values.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator bitwise_and_tensor{
    .schema = parse_schema("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self & other, bit by bit",
    .dtypes = kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.bitwise_and",
};

inline constexpr Operator bitwise_or_tensor{
    .schema = parse_schema("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self | other, bit by bit",
    .dtypes = kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.bitwise_or",
};

inline constexpr Operator bitwise_xor_tensor{
    .schema = parse_schema("bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self ^ other, bit by bit",
    .dtypes = kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.bitwise_xor",
};

inline constexpr Operator bitwise_not{
    .schema = parse_schema("bitwise_not(Tensor self) -> Tensor"),
    .formula = "~self, bit by bit; of a truth value, its opposite",
    .dtypes = kIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .source = "torch.bitwise_not",
};

}  // namespace assay::ops
