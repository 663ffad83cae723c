// Matrix product.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator mm{
    .schema = parse_schema("mm(Tensor self, Tensor mat2) -> Tensor"),
    .formula = "out[i,j] = sum over k of self[i,k] * mat2[k,j]",
    .shapes = "self=[M,K] mat2=[K,N] -> [M,N]",
    .properties = kRowIndependent,
    .source = "torch.mm",
};

}  // namespace assay::ops
