// Functions of one number.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator exp{
    .schema = parse_schema("exp(Tensor self) -> Tensor"),
    .formula = "exp(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -104..89, -88..-87, 0..1, -18..12, -746..710",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "self.small_as_zero (bf16): the function rounds to what it is at 0; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "self.subnormal_as_zero: the function rounds to what it is at 0",
    .source = "torch.exp",
};

inline constexpr Operator log{
    .schema = parse_schema("log(Tensor self) -> Tensor"),
    .formula = "log(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..1, 1..2, 0..1000",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "results.small_as_zero (bf16): numbers next to 1 have logarithms above 2^-10",
    .source = "torch.log",
};

inline constexpr Operator sqrt{
    .schema = parse_schema("sqrt(Tensor self) -> Tensor"),
    .formula = "sqrt(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..4, 0..1000",
    .in_place = "self",
    .unobservable = "results.subnormal_as_zero: the formula never gives a subnormal number",
    .source = "torch.sqrt",
};

inline constexpr Operator rsqrt{
    .schema = parse_schema("rsqrt(Tensor self) -> Tensor"),
    .formula = "1 / sqrt(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..4, 0..1000",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "results.small_as_zero (f16): the largest number gives more than 2^-10",
    .source = "torch.rsqrt",
};

inline constexpr Operator erf{
    .schema = parse_schema("erf(Tensor self) -> Tensor"),
    .formula = "erf(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, 0..4, -6..0",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides "
        "of 0",
    .source = "torch.erf",
};

inline constexpr Operator acos{
    .schema = parse_schema("acos(Tensor self) -> Tensor"),
    .formula = "acos(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, -0.5..0.5, 0.5..1",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "results.infinity_as_*: the formula is never infinite; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "results.small_as_zero (f16 bf16): between 0 and 2^-10 the formula gives no number; "
        "self.small_as_zero (bf16): the function rounds to what it is at 0; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "self.subnormal_as_zero (f64 f32 bf16): the function rounds to what it is at 0",
    .source = "torch.acos",
};

inline constexpr Operator reciprocal{
    .schema = parse_schema("reciprocal(Tensor self) -> Tensor"),
    .formula = "1 / self",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..4, -1000..0",
    .in_place = "self",
    .source = "torch.reciprocal",
};

inline constexpr Operator sin{
    .schema = parse_schema("sin(Tensor self) -> Tensor"),
    .formula = "sin(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -4..4, 0..100, -1048576..1048576, 1e6..1e30",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.sin",
};

inline constexpr Operator cos{
    .schema = parse_schema("cos(Tensor self) -> Tensor"),
    .formula = "cos(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -4..4, 0..100, -1048576..1048576, 1e6..1e30",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "results.negative_zero_lost: the formula never gives -0; "
        "results.subnormal_as_zero: no number of the dtype is so near to a root; "
        "self.sign_lost: the formula is even; "
        "self.subnormal_as_zero: the function rounds to what it is at 0; "
        "self.small_as_zero (f16 bf16): the function rounds to what it is at 0",
    .source = "torch.cos",
};

inline constexpr Operator asin{
    .schema = parse_schema("asin(Tensor self) -> Tensor"),
    .formula = "asin(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, -0.5..0.5, 0.5..1",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "self.clipped: beyond 1 the formula gives NaN; "
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.asin",
};

inline constexpr Operator atan{
    .schema = parse_schema("atan(Tensor self) -> Tensor"),
    .formula = "atan(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, 0..3, -1000..0",
    .in_place = "self",
    .unobservable =
        "self.clipped (f16 bf16): beyond 2^12 the function is what it is at 2^12; "
        "results.infinity_as_*: the formula is never infinite; "
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.atan",
};

inline constexpr Operator exp2{
    .schema = parse_schema("exp2(Tensor self) -> Tensor"),
    .formula = "2^self",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -150..128, -127..-126, 0..1, -26..17, -1075..1024",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "self.subnormal_as_zero: the function rounds to what it is at 0; "
        "self.small_as_zero (bf16): the function rounds to what it is at 0",
    .source = "torch.exp2",
};

inline constexpr Operator expm1{
    .schema = parse_schema("expm1(Tensor self) -> Tensor"),
    .formula = "exp(self) - 1",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, -20..89, -40..710",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides of 0; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12",
    .source = "torch.expm1",
};

inline constexpr Operator log2{
    .schema = parse_schema("log2(Tensor self) -> Tensor"),
    .formula = "log(self) / log(2)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: 0..1, 1..2, 0..1000",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "results.small_as_zero (bf16): numbers next to 1 have logarithms above 2^-10",
    .source = "torch.log2",
};

inline constexpr Operator log1p{
    .schema = parse_schema("log1p(Tensor self) -> Tensor"),
    .formula = "log(1 + self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..0, 0..1, 0..1000",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides of 0",
    .source = "torch.log1p",
};

}  // namespace assay::ops
