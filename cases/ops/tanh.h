// Hyperbolic tangent, and its backward.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

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

}  // namespace assay::ops
