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
    .source = "torch.tanh: the derivative 1 - tanh(x)^2",
};

}  // namespace assay::ops
