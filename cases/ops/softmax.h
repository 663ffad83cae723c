// Softmax along one dimension, its logarithm, and their gradients.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator softmax_int{
    .schema = parse_schema("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    .formula = "exp(self - max(self, dim)) / sum(exp(self - max(self, dim)), dim)",
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [*]",
    .domains = "dim: axis(self); dtype: dtype",
    .properties = kRowwise,
    .aliases = "_softmax(self=self, dim=dim, half_to_float=False)",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.sign_lost: the formula is never negative; "
        "results.infinity_as_*: the formula is never infinite; "
        "self.subnormal_as_zero (f64 f32 bf16): the function rounds to what it is at 0",
    .source = "torch.nn.functional.softmax",
};

inline constexpr Operator log_softmax_int{
    .schema = parse_schema("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    .formula = "(self - max(self, dim)) - log(sum(exp(self - max(self, dim)), dim))",
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [*]",
    .domains = "dim: axis(self); dtype: dtype",
    .properties = kRowwise,
    .aliases = "_log_softmax(self=self, dim=dim, half_to_float=False)",
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.subnormal_as_zero (f64 f32 bf16): results so near 0 are what is left of numbers that were "
        "rounded to 1; "
        "self.subnormal_as_zero (f64 f32 bf16): the function rounds to what it is at 0",
    .source = "torch.nn.functional.log_softmax",
};

// `input_dtype` is for half_to_float, which CPUs do not have.
inline constexpr Operator softmax_backward_data{
    .schema = parse_schema(
        "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"),
    .formula = "(grad_output - sum(grad_output * output, dim)) * output",
    .shapes = "grad_output=[*] output=[*] -> [*]",
    .domains = "dim: axis(output); input_dtype: dtype_of(grad_output)",
    .properties = kRowwise,
    .gradient_of = "softmax.int(output)",
    .source = "tools/autograd/derivatives.yaml of PyTorch, _softmax",
};

inline constexpr Operator log_softmax_backward_data{
    .schema = parse_schema(
        "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"),
    .formula = "grad_output - exp(output) * sum(grad_output, dim)",
    .shapes = "grad_output=[*] output=[*] -> [*]",
    .domains = "dim: axis(output); input_dtype: dtype_of(grad_output)",
    .properties = kRowwise,
    .gradient_of = "log_softmax.int(output)",
    .unobservable =
        "output.clipped: beyond 2^12 the exponential is what it is at 2^12; "
        "output.subnormal_as_zero (f64 f32 bf16): the function rounds to what it is at 0",
    .source = "tools/autograd/derivatives.yaml of PyTorch, _log_softmax",
};

}  // namespace assay::ops
