// Activations: functions of one number that layers of networks end in, and gradients of them.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator relu{
    .schema = parse_schema("relu(Tensor self) -> Tensor"),
    .formula = "self < 0 ? 0 : self",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise | kIdempotent,
    .kinks = "0",
    .in_place = "self",
    .source = "torch.nn.functional.relu; Nair & Hinton 2010",
};

inline constexpr Operator leaky_relu{
    .schema = parse_schema("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"),
    .formula = "self > 0 ? self : negative_slope * self",
    .shapes = "self=[*] -> [*]",
    .domains = "negative_slope: real",
    .properties = kElementwise,
    .kinks = "0",
    .in_place = "self",
    .source = "torch.nn.functional.leaky_relu; Maas et al. 2013",
};

inline constexpr Operator hardswish{
    .schema = parse_schema("hardswish(Tensor self) -> Tensor"),
    .formula = "self * min(max(self + 3, 0), 6) / 6",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .kinks = "-3, 0, 3",
    .ranges = "self: -4..4",
    .in_place = "self",
    .source = "torch.nn.functional.hardswish; Howard et al. 2019",
};

inline constexpr Operator hardsigmoid{
    .schema = parse_schema("hardsigmoid(Tensor self) -> Tensor"),
    .formula = "min(max(self + 3, 0), 6) / 6",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .kinks = "-3, 0, 3",
    .ranges = "self: -4..4",
    .in_place = "self",
    .unobservable =
        "results.small_as_zero (bf16): next to -3 numbers are so far apart that the formula gives more; "
        "self.small_as_zero (f16 bf16): the formula rounds to what it is at 0; "
        "results.infinity_as_*: the formula is never infinite; "
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "results.subnormal_as_zero: the formula never gives a subnormal number; "
        "self.clipped: beyond 3 the formula is what it is at 3; "
        "self.subnormal_as_zero: the formula rounds to what it is at 0",
    .source = "torch.nn.functional.hardsigmoid; Howard et al. 2019",
};

inline constexpr Operator mish{
    .schema = parse_schema("mish(Tensor self) -> Tensor"),
    .formula = "self * tanh(log(1 + exp(self)))",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -6..6, -104..20, -20..0, -746..0",
    .in_place = "self",
    .source = "torch.nn.functional.mish; Misra 2019",
};

inline constexpr Operator sigmoid{
    .schema = parse_schema("sigmoid(Tensor self) -> Tensor"),
    .formula = "1 / (1 + exp(-self))",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -6..6, -89..104, -12..18, -710..746",
    .in_place = "self",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "results.infinity_as_*: the formula is never infinite; "
        "self.small_as_zero (bf16): the function rounds to what it is at 0; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "self.subnormal_as_zero: the function rounds to what it is at 0",
    .source = "torch.sigmoid",
};

inline constexpr Operator silu{
    .schema = parse_schema("silu(Tensor self) -> Tensor"),
    .formula = "self / (1 + exp(-self))",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -6..6, -89..104, -12..18, -710..746",
    .in_place = "self",
    .source = "torch.nn.functional.silu; Hendrycks & Gimpel 2016",
};

inline constexpr Operator tanh{
    .schema = parse_schema("tanh(Tensor self) -> Tensor"),
    .formula = "tanh(self)",
    .shapes = "self=[*] -> [*]",
    .properties = kElementwise,
    .ranges = "self: -1..1, 0..10, -20..0",
    .in_place = "self",
    .unobservable =
        "results.infinity_as_*: the formula is never infinite; "
        "self.clipped: beyond 2^12 the function is what it is at 2^12; "
        "results.negative_zero_lost: the error in ulp that the kernel's contract states reaches both sides "
        "of 0",
    .source = "torch.tanh",
};

inline constexpr Operator tanh_backward{
    .schema = parse_schema("tanh_backward(Tensor grad_output, Tensor output) -> Tensor"),
    .formula = "grad_output * (1 - output * output)",
    .dtype_rule = DtypeRule::promote,
    .shapes = "grad_output=[*]~ output=[*]~ -> [*]",
    .properties = kElementwise,
    .ranges = "output: -1..1",
    .in_place = "grad_output",
    .gradient_of = "tanh(output)",
    .unobservable =
        "output.subnormal_as_zero: the function rounds to what it is at 0; "
        "output.small_as_zero (f16 bf16): 1 - output^2 rounds to 1; "
        "output.sign_lost: the formula takes the square",
    .source = "torch.tanh: the derivative 1 - tanh(x)^2",
};

inline constexpr Operator softplus{
    .schema = parse_schema("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"),
    .formula = "beta * self > threshold ? self : log(1 + exp(beta * self)) / beta",
    .shapes = "self=[*] -> [*]",
    .domains = "beta: real; threshold: real",
    .properties = kElementwise,
    .kinks = "20",
    .ranges = "self: -2..2, 0..21, -104..0, -746..0",
    .in_place = "self",
    .source = "torch.nn.functional.softplus",
};

inline constexpr Operator elu{
    .schema =
        parse_schema("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"),
    .formula = "self > 0 ? scale * self : alpha * scale * (exp(input_scale * self) - 1)",
    .shapes = "self=[*] -> [*]",
    .domains = "alpha: real; scale: real; input_scale: real",
    .properties = kElementwise,
    .kinks = "0",
    .ranges = "self: -1..1, -20..0, -40..1",
    .in_place = "self",
    .source = "torch.nn.functional.elu; Clevert et al. 2016",
};

}  // namespace assay::ops
