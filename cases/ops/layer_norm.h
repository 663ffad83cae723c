// Normalisation of the last dimensions to mean 0 and variance 1.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator native_layer_norm{
    .schema = parse_schema(
        "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, "
        "Tensor, Tensor)"),
    .formula =
        "(input - mean) * rstd * weight + bias, mean, rstd = 1 / sqrt(mean((input - mean)^2) + eps), over the last "
        "dimensions, those of normalized_shape",
    .shapes = "normalized_shape=[+M] input=[*,*M] weight=[*M] bias=[*M] -> [*,*M], [*,1*M], [*,1*M]",
    .domains = "eps: epsilon",
    .source = "Ba, Kiros and Hinton 2016; torch.nn.functional.layer_norm",
};

inline constexpr Operator native_layer_norm_backward{
    .schema = parse_schema(
        "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, "
        "Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"),
    .formula =
        "of out = native_layer_norm(input, weight, bias), with x = (input - mean) * rstd, g = grad_out * weight and means "
        "over the last dimensions: grad_input = rstd * (g - mean(g) - x * mean(g * x)), grad_weight = sum of grad_out * x "
        "and grad_bias = sum of grad_out over the first ones",
    .shapes =
        "normalized_shape=[+M] grad_out=[*,*M] input=[*,*M] mean=[*,1*M] rstd=[*,1*M] weight=[*M] bias=[*M] -> "
        "[*,*M], [*M], [*M]",
    .domains = "output_mask: mask(input, weight, bias)",
    .gradient_of = "native_layer_norm(-, mean, rstd)",
    .unobservable = "bias.dropped: the gradient does not depend on the bias",
    .source = "tools/autograd/derivatives.yaml of PyTorch, native_layer_norm",
};

}  // namespace assay::ops
