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

}  // namespace assay::ops
