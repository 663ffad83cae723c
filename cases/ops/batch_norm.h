// Normalisation of channels to mean 0 and variance 1, or by statistics that are given.
//
// In training, PyTorch also updates the running statistics in place. A schema does not say that of its arguments, so that
// Assay has training without running statistics only, where nothing is changed.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator native_batch_norm{
    .schema = parse_schema(
        "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
        "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"),
    .formula =
        "(input - mean[c]) * rstd[c] * weight[c] + bias[c], rstd = 1 / sqrt(var + eps), var = mean((input - mean)^2) over "
        "all dimensions but c, and results mean and rstd, if training; else mean = running_mean, var = running_var",
    .shapes =
        "training=false input=[N,C,*] weight=[C] bias=[C] running_mean=[C] running_var=[C] -> [N,C,*], [0], [0]; "
        "training=true input=[N,C,*] weight=[C] bias=[C] -> [N,C,*], [C], [C]",
    .domains =
        "running_mean: given unless training; running_var: given unless training; momentum: fraction; eps: "
        "epsilon",
    .ranges = "running_var: 0..4, -0.1..0.1",
    .source = "Ioffe and Szegedy 2015; torch.nn.functional.batch_norm",
};

}  // namespace assay::ops
