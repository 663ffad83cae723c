// Functions of two numbers.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// Of integers, modulo 2^bits; a negative power of anything but 1 and -1 is 0, as in ATen.
inline constexpr Operator pow_tensor_tensor{
    .schema = parse_schema("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"),
    .formula = "self^exponent",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ exponent=[*]~ -> [*]",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .ranges = "self: 0..4, -2..2, 0..1000; exponent: -3..3, 0..1, -40..40",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost (f64 f32): the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.pow; IEEE 754-2019, 9.2.1",
};

inline constexpr Operator pow_tensor_scalar{
    .schema = parse_schema("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"),
    .formula = "self^exponent",
    .shapes = "self=[*] -> [*]",
    .domains = "exponent: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .ranges = "self: 0..4, -2..2, 0..1000",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost (f64 f32): the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.pow; IEEE 754-2019, 9.2.1",
};

inline constexpr Operator pow_scalar{
    .schema = parse_schema("pow.Scalar(Scalar self, Tensor exponent) -> Tensor"),
    .formula = "self^exponent",
    .shapes = "exponent=[*] -> [*]",
    .domains = "self: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .ranges = "exponent: -3..3, 0..1, -40..40",
    .in_place = "exponent",
    .unobservable =
        "results.negative_zero_lost (f64 f32): the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.pow; IEEE 754-2019, 9.2.1",
};

inline constexpr Operator atan2{
    .schema = parse_schema("atan2(Tensor self, Tensor other) -> Tensor"),
    .formula = "the angle of the point (other, self), from -pi to pi",
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .kinks = "0",
    .ranges = "self: -4..4, -1000..1000; other: -4..4, -0.01..0.01",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "results.negative_zero_lost (f64 f32): the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.atan2; IEEE 754-2019, 9.2.1",
};

inline constexpr Operator xlogy_tensor{
    .schema = parse_schema("xlogy.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "NaN where other is, else 0 where self is 0, else self * log(other)",
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .kinks = "0",
    .ranges = "self: -4..4; other: 0..1, 1..2, 0..1000",
    .in_place = "self",
    .source = "torch.xlogy",
};

}  // namespace assay::ops
