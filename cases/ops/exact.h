// Exact functions of one number. Integers are what they are rounded to; abs and neg wrap, as two's complement does.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator abs{
    .schema = parse_schema("abs(Tensor self) -> Tensor"),
    .formula = "|self|",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost (f64 f32 f16 bf16): the formula is never negative; "
        "self.sign_lost: the formula takes the size",
    .source = "torch.abs",
};

inline constexpr Operator neg{
    .schema = parse_schema("neg(Tensor self) -> Tensor"),
    .formula = "-self",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .source = "torch.neg",
};

inline constexpr Operator sign{
    .schema = parse_schema("sign(Tensor self) -> Tensor"),
    .formula = "1 where self > 0, -1 where self < 0, else 0: of NaN and -0, too",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "results.nan_as_zero: the formula never gives NaN; "
        "results.negative_zero_lost: the formula never gives -0; "
        "results.small_as_zero: the formula gives 0 or numbers from 1 on; "
        "results.subnormal_as_zero: the formula gives 0 or numbers from 1 on; "
        "results.through_*: every format holds -1, 0 and 1; "
        "results.in_half_the_bits: four bits hold -1, 0 and 1; "
        "self.as_tf32: a number keeps its sign, and 0 is 0; "
        "self.clipped: a number keeps its sign; "
        "self.nan_as_zero: of NaN the formula gives 0",
    .source = "torch.sign; NaN gives NaN in NumPy and ONNX",
};

inline constexpr Operator floor{
    .schema = parse_schema("floor(Tensor self) -> Tensor"),
    .formula = "the greatest integer that is at most self",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0, 1, -1",
    .ranges = "self: -3..3, -100..100",
    .in_place = "self",
    .unobservable =
        "results.small_as_zero: the formula gives 0 or numbers from 1 on; "
        "results.subnormal_as_zero: the formula gives 0 or numbers from 1 on",
    .source = "torch.floor",
};

inline constexpr Operator ceil{
    .schema = parse_schema("ceil(Tensor self) -> Tensor"),
    .formula = "the least integer that is at least self",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0, 1, -1",
    .ranges = "self: -3..3, -100..100",
    .in_place = "self",
    .unobservable =
        "results.small_as_zero: the formula gives 0 or numbers from 1 on; "
        "results.subnormal_as_zero: the formula gives 0 or numbers from 1 on",
    .source = "torch.ceil",
};

inline constexpr Operator trunc{
    .schema = parse_schema("trunc(Tensor self) -> Tensor"),
    .formula = "the nearest integer towards 0",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0, 1, -1",
    .ranges = "self: -3..3, -100..100",
    .in_place = "self",
    .unobservable =
        "results.small_as_zero: the formula gives 0 or numbers from 1 on; "
        "results.subnormal_as_zero: the formula gives 0 or numbers from 1 on; "
        "self.subnormal_as_zero: what is between -1 and 1 gives 0",
    .source = "torch.trunc",
};

inline constexpr Operator round{
    .schema = parse_schema("round(Tensor self) -> Tensor"),
    .formula = "the nearest integer; halves go to the even one",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0.5, -0.5, 1.5, 2.5",
    .ranges = "self: -3..3, -100..100",
    .in_place = "self",
    .unobservable =
        "results.small_as_zero: the formula gives 0 or numbers from 1 on; "
        "results.subnormal_as_zero: the formula gives 0 or numbers from 1 on; "
        "self.as_integer: that is the formula; "
        "self.subnormal_as_zero: what is next to 0 gives 0",
    .source = "torch.round",
};

}  // namespace assay::ops
