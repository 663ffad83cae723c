// Softmax along one dimension.
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
    .aliases = "_softmax(self=self, dim=dim)",
    .source = "torch.nn.functional.softmax",
};

}  // namespace assay::ops
