// Rectified linear unit with a learned slope for each channel.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator prelu{
    .schema = parse_schema("prelu(Tensor self, Tensor weight) -> Tensor"),
    .formula = "self > 0 ? self : weight[c] * self, with c the index in dimension 1",
    .shapes = "self=[N,C,*] weight=[C] -> [N,C,*]; self=[*] weight=[1] -> [*]",
    .kinks = "0",
    .in_place = "self",
    .aliases = "_prelu_kernel(self=self, weight=weight)",
    .source = "torch.nn.functional.prelu; He et al. 2015, eq. 1",
};

inline constexpr Operator prelu_backward{
    .schema =
        parse_schema("prelu_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)"),
    .formula =
        "grad_self = self > 0 ? grad_output : weight[c] * grad_output; "
        "grad_weight[c] = sum of (self > 0 ? 0 : self * grad_output) over all but dimension 1",
    .shapes =
        "grad_output=[N,C,*] self=[N,C,*] weight=[C] -> [N,C,*], [C]; "
        "grad_output=[*] self=[*] weight=[1] -> [*], [1]",
    .kinks = "0",
    .gradient_of = "prelu()",
    .source = "torch.nn.functional.prelu; He et al. 2015, eq. 2 and 3",
};

}  // namespace assay::ops
