// Normalisation of channels to mean 0 and variance 1, or by statistics that are given.
//
// In training, native_batch_norm of PyTorch also updates the running statistics in place. Its schema does not say that of
// its arguments, so that Assay has it without running statistics only, where nothing is changed. What gives the new ones as
// results is _native_batch_norm_legit_functional, which PyTorch has since 2.0.
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
    .unobservable = "momentum.*: it concerns running statistics, which are no results of this operator",
    .source = "Ioffe and Szegedy 2015; torch.nn.functional.batch_norm",
};

// Of one number n - 1 is 0, and the new running variance NaN.
inline constexpr Operator native_batch_norm_legit_functional{
    .schema = parse_schema(
        "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
        "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, "
        "Tensor running_var_out)"),
    .formula =
        "native_batch_norm; if training, running_mean_out = (1 - momentum) * running_mean + momentum * mean, "
        "running_var_out = (1 - momentum) * running_var + momentum * sum of (input - mean)^2 / (n - 1) over the n "
        "numbers of a channel; else running_mean and running_var",
    .shapes =
        "training=false input=[N,C,*] weight=[C] bias=[C] running_mean=[C] running_var=[C] -> [N,C,*], [0], [0], [C], "
        "[C]; "
        "training=true input=[N,C,*] weight=[C] bias=[C] running_mean=[C] running_var=[C] -> [N,C,*], [C], [C], [C], "
        "[C]",
    .domains = "momentum: fraction; eps: epsilon",
    .ranges = "running_var: 0..4, -0.1..0.1",
    .source =
        "Ioffe and Szegedy 2015; native/Normalization.cpp batch_norm_cpu_update_stats_template of PyTorch",
};

}  // namespace assay::ops
