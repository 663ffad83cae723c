// Numbers brought between two bounds.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// Bounds are converted to the dtype of integers first, as in ATen 1.13 (c10/core/Scalar.h, Scalar::to): in u8, -1 is 255, and what is
// beyond the dtype otherwise is an error. PyTorch 2.15 compares with the bounds as they are: a min below the dtype's range bounds
// nothing, a max below it is an error. It is given what is meant here (harness/oracle/torch.cpp). A bound that is no integer makes f32
// of integers there, and is an error here.
inline constexpr Operator clamp{
    .schema = parse_schema("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    .formula =
        "min(max(self, min), max), a bound that is None left out, and one that is NaN; of two bounds, one that is NaN makes "
        "every result NaN",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .domains = "min: real; max: real unless min",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .in_place = "self",
    .source = "torch.clamp; ATen/native/TensorCompare.cpp, clamp_out",
};

inline constexpr Operator clamp_tensor{
    .schema = parse_schema("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"),
    .formula = "min(max(self, min), max), a bound that is None left out; NaN where any of them is",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ min=[*]~ max=[*]~ -> [*]",
    .domains = "max: real unless min",
    .properties = kElementwise,
    .kinks = "0, 1, -1",
    .in_place = "self",
    .unobservable = "self.swapped_with_min (i64 i32 i16 i8 u8): of integers max(self, min) is symmetric",
    .source = "torch.clamp; ATen/native/TensorCompare.cpp, clamp_out",
};

}  // namespace assay::ops
