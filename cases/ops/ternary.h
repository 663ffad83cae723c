// Arithmetic of three tensors, broadcast as NumPy does and converted to the dtype of the result first.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator addcmul{
    .schema =
        parse_schema("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"),
    .formula = "self + value * tensor1 * tensor2",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ tensor1=[*]~ tensor2=[*]~ -> [*]",
    .domains = "value: real",
    .properties = kElementwise,
    .in_place = "self",
    .unobservable = "tensor1.swapped_with_tensor2: the formula is symmetric in them",
    .source = "torch.addcmul",
};

inline constexpr Operator addcdiv{
    .schema =
        parse_schema("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"),
    .formula = "self + value * tensor1 / tensor2",
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ tensor1=[*]~ tensor2=[*]~ -> [*]",
    .domains = "value: real",
    .properties = kElementwise,
    .in_place = "self",
    .source = "torch.addcdiv",
};

inline constexpr Operator lerp_tensor{
    .schema = parse_schema("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"),
    .formula = "self + weight * (end - self)",
    .shapes = "self=[*]~ end=[*]~ weight=[*]~ -> [*]",
    .properties = kElementwise,
    .kinks = "0.5",
    .ranges = "weight: 0..1, -2..2",
    .in_place = "self",
    .source = "torch.lerp",
};

}  // namespace assay::ops
