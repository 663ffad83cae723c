// Arithmetic of two tensors, broadcast as NumPy does.
//
// Both are converted to the result's dtype first, as torch.result_type has it: a zero-dimensional f32 beside bf16 is rounded to bf16. ATen
// does so in add, sub and maximum (native/TensorIterator.cpp, cast_common_dtype_to_outputs); since PyTorch 2 its products and quotients
// read such an `other`, and not such a `self`, in f32 (native/cpu/BinaryOpsKernel.cpp, mul_kernel and div_true_kernel:
// iter.original_scalar_value<opmath_t>(2)), which a contract allows by operands=wide.
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

inline constexpr Operator minimum{
    .schema = parse_schema("minimum(Tensor self, Tensor other) -> Tensor"),
    .formula = "min(self, other)",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.minimum; IEEE 754-2019, 9.6",
};

// Integers are not divided by 0, as in div.Tensor_mode.
inline constexpr Operator fmod_tensor{
    .schema = parse_schema("fmod.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self - other * trunc(self / other), exactly",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .domains = "other: nonzero",
    .properties = kElementwise,
    .ranges = "self: -10..10, -1000000..1000000; other: -3..3, 0.001..1",
    .in_place = "self",
    .unobservable =
        "results.truncated: the formula gives numbers of the dtype; "
        "arithmetic.in_*: the formula rounds nothing; "
        "other.nan_as_zero: of a divisor 0, too, the formula gives NaN; "
        "other.sign_lost: the formula has the sign of self; "
        "results.infinity_as_*: the formula is never infinite",
    .source = "torch.fmod",
};

// The sum may be other itself: of -1e-20 and 3 in f32. A zero has the sign of self, where Python's has that of other.
inline constexpr Operator remainder_tensor{
    .schema = parse_schema("remainder.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "fmod(self, other), and other more where the signs differ, rounded: Python's self % other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .domains = "other: nonzero",
    .properties = kElementwise,
    .ranges = "self: -10..10, -1000000..1000000; other: -3..3, 0.001..1",
    .in_place = "self",
    .unobservable = "other.nan_as_zero: of a divisor 0, too, the formula gives NaN",
    .source = "torch.remainder",
};

}  // namespace assay::ops
