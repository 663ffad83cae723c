// Gaussian error linear unit, and its backward.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator gelu{
    .schema = parse_schema("gelu(Tensor self, *, str approximate=\"none\") -> Tensor"),
    .formula =
        "self * (1 + erf(self / sqrt(2))) / 2; tanh: self * (1 + tanh(sqrt(2 / pi) * (self + 0.044715 * self^3))) / 2",
    .shapes = "self=[*] -> [*]",
    .domains = "approximate: one_of(none, tanh)",
    .properties = kElementwise,
    .ranges = "self: -6..6, -15..-3, -40..-13",
    .in_place = "self",
    .source = "torch.nn.functional.gelu; Hendrycks & Gimpel 2016",
};

inline constexpr Operator gelu_backward{
    .schema =
        parse_schema("gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor"),
    .formula =
        "grad_output * (cdf(self) + self * pdf(self)) of the normal distribution; tanh: the derivative of that form",
    .dtype_rule = DtypeRule::promote,
    .shapes = "grad_output=[*]~ self=[*]~ -> [*]",
    .domains = "approximate: one_of(none, tanh)",
    .properties = kElementwise,
    .ranges = "self: -6..6, -15..-3, -40..-13",
    .in_place = "grad_output",
    .gradient_of = "gelu()",
    .unobservable = "self.subnormal_as_zero (f64 f32 bf16): the function rounds to what it is at 0",
    .source = "torch.nn.functional.gelu",
};

}  // namespace assay::ops
