// Normalisation of groups of neighbouring channels to mean 0 and variance 1.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator native_group_norm{
    .schema = parse_schema(
        "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float "
        "eps) -> (Tensor, Tensor, Tensor)"),
    .formula =
        "(input - mean) * rstd * weight[c] + bias[c], mean, rstd = 1 / sqrt(mean((input - mean)^2) + eps), over each of "
        "the `group` groups of channels",
    .shapes = "N=N C=G*K HxW=|*| group=G input=[N,G*K,*] weight=[G*K] bias=[G*K] -> [N,G*K,*], [N,G], [N,G]",
    .domains = "eps: epsilon",
    .source = "Wu and He 2018; torch.nn.functional.group_norm",
};

}  // namespace assay::ops
