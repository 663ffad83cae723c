// Comparisons, and what is true of numbers: results of bool. Tensors are promoted as in arithmetic, and compared then: i64
// beside f32 in f32. A Scalar is converted to the dtype of the tensor first; truth values beside one are left out, of which
// ATen makes integers. NaN is unequal to everything, and 0 equal to -0.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator eq_tensor{
    .schema = parse_schema("eq.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self == other",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.eq",
};

inline constexpr Operator eq_scalar{
    .schema = parse_schema("eq.Scalar(Tensor self, Scalar other) -> Tensor"),
    .formula = "self == other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .domains = "other: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .source = "torch.eq",
};

inline constexpr Operator ne_tensor{
    .schema = parse_schema("ne.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self != other",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .unobservable = "self.swapped_with_other: the formula is symmetric",
    .source = "torch.ne",
};

inline constexpr Operator ne_scalar{
    .schema = parse_schema("ne.Scalar(Tensor self, Scalar other) -> Tensor"),
    .formula = "self != other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .domains = "other: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .source = "torch.ne",
};

inline constexpr Operator lt_tensor{
    .schema = parse_schema("lt.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self < other",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .source = "torch.lt",
};

inline constexpr Operator lt_scalar{
    .schema = parse_schema("lt.Scalar(Tensor self, Scalar other) -> Tensor"),
    .formula = "self < other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .domains = "other: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .unobservable =
        "paths.other 0 (u8): no number without a sign is below 0; "
        "paths.other 0 2 dimensions (u8): no number without a sign is below 0",
    .source = "torch.lt",
};

inline constexpr Operator le_tensor{
    .schema = parse_schema("le.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self <= other",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .source = "torch.le",
};

inline constexpr Operator le_scalar{
    .schema = parse_schema("le.Scalar(Tensor self, Scalar other) -> Tensor"),
    .formula = "self <= other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .domains = "other: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .source = "torch.le",
};

inline constexpr Operator gt_tensor{
    .schema = parse_schema("gt.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self > other",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .source = "torch.gt",
};

inline constexpr Operator gt_scalar{
    .schema = parse_schema("gt.Scalar(Tensor self, Scalar other) -> Tensor"),
    .formula = "self > other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .domains = "other: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .source = "torch.gt",
};

inline constexpr Operator ge_tensor{
    .schema = parse_schema("ge.Tensor(Tensor self, Tensor other) -> Tensor"),
    .formula = "self >= other",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .source = "torch.ge",
};

inline constexpr Operator ge_scalar{
    .schema = parse_schema("ge.Scalar(Tensor self, Scalar other) -> Tensor"),
    .formula = "self >= other",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .domains = "other: real",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .source = "torch.ge",
};

inline constexpr Operator logical_and{
    .schema = parse_schema("logical_and(Tensor self, Tensor other) -> Tensor"),
    .formula = "self != 0 and other != 0",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .kinks = "0",
    .unobservable =
        "self.swapped_with_other: the formula is symmetric; "
        "self.as_tf32: no number becomes 0; "
        "self.clipped: no number becomes 0; "
        "self.sign_lost: truth has no sign; "
        "other.as_tf32: no number becomes 0; "
        "other.clipped: no number becomes 0; "
        "other.sign_lost: truth has no sign",
    .source = "torch.logical_and",
};

inline constexpr Operator logical_or{
    .schema = parse_schema("logical_or(Tensor self, Tensor other) -> Tensor"),
    .formula = "self != 0 or other != 0",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .kinks = "0",
    .unobservable =
        "self.swapped_with_other: the formula is symmetric; "
        "self.as_tf32: no number becomes 0; "
        "self.clipped: no number becomes 0; "
        "self.sign_lost: truth has no sign; "
        "other.as_tf32: no number becomes 0; "
        "other.clipped: no number becomes 0; "
        "other.sign_lost: truth has no sign",
    .source = "torch.logical_or",
};

inline constexpr Operator logical_xor{
    .schema = parse_schema("logical_xor(Tensor self, Tensor other) -> Tensor"),
    .formula = "(self != 0) != (other != 0)",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .truths = 1,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .properties = kElementwise,
    .kinks = "0",
    .unobservable =
        "self.swapped_with_other: the formula is symmetric; "
        "self.as_tf32: no number becomes 0; "
        "self.clipped: no number becomes 0; "
        "self.sign_lost: truth has no sign; "
        "other.as_tf32: no number becomes 0; "
        "other.clipped: no number becomes 0; "
        "other.sign_lost: truth has no sign",
    .source = "torch.logical_xor",
};

inline constexpr Operator logical_not{
    .schema = parse_schema("logical_not(Tensor self) -> Tensor"),
    .formula = "self == 0",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .kinks = "0",
    .unobservable =
        "self.as_tf32: no number becomes 0; "
        "self.clipped: no number becomes 0; "
        "self.sign_lost: truth has no sign",
    .source = "torch.logical_not",
};

inline constexpr Operator isnan{
    .schema = parse_schema("isnan(Tensor self) -> Tensor"),
    .formula = "self is NaN",
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .kinks = "nan",
    .unobservable =
        "self.as_*: no number becomes NaN, and NaN none; "
        "self.clipped: NaN stays; "
        "self.infinity_as_zero: neither is NaN; "
        "self.sign_lost: the formula does not look at the sign; "
        "self.small_as_zero: neither is NaN; "
        "self.subnormal_as_zero: neither is NaN",
    .source = "torch.isnan",
};

inline constexpr Operator isinf{
    .schema = parse_schema("isinf(Tensor self) -> Tensor"),
    .formula = "self is an infinity",
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .kinks = "inf, -inf",
    .unobservable =
        "self.as_integer: no infinity comes or goes; "
        "self.nan_as_zero: neither is infinite; "
        "self.sign_lost: the formula does not look at the sign; "
        "self.small_as_zero: neither is infinite; "
        "self.subnormal_as_zero: neither is infinite",
    .source = "torch.isinf",
};

inline constexpr Operator isfinite{
    .schema = parse_schema("isfinite(Tensor self) -> Tensor"),
    .formula = "self is neither NaN nor an infinity",
    .truths = 1,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .kinks = "inf, -inf, nan",
    .unobservable =
        "self.as_integer: no infinity comes or goes; "
        "self.sign_lost: the formula does not look at the sign; "
        "self.small_as_zero: both are finite; "
        "self.subnormal_as_zero: both are finite",
    .source = "torch.isfinite",
};

}  // namespace assay::ops
