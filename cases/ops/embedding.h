// Rows of a table, chosen by index.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator embedding{
    .schema = parse_schema(
        "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
        "bool sparse=False) -> Tensor"),
    .formula = "out[..., j] = weight[indices[...], j]; the other arguments concern the gradient alone",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .shapes = "weight=[N,D] indices=[*] -> [*,D]",
    .domains = "indices: index(weight); padding_idx: integer",
    .unobservable =
        "padding_idx.*: it concerns the gradient alone; "
        "scale_grad_by_freq.*: it concerns the gradient alone; "
        "sparse.*: it concerns the gradient alone",
    .source = "torch.nn.functional.embedding",
};

}  // namespace assay::ops
