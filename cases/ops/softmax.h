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
    .source = "tools/autograd/derivatives.yaml of PyTorch, _log_softmax",
};

}  // namespace assay::ops
