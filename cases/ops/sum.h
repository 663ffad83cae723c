// Sums and means over dimensions.
//
// With dtype the input is converted first, as torch.sum and torch.mean document. PyTorch 2 reads the input of a mean into f16 or bf16 in f32
// instead (native/ReduceOps.cpp, mean_out: sum_out_dtype), which a contract allows by operands=wide; 1.13 converts, as sums do.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator sum_dim_int_list{
    .schema = parse_schema(
        "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    .formula = "the sum of self over the dimensions dim, all of them if none is named",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: axes(self); dtype: dtype",
    .unobservable =
        "results.negative_zero_lost: whether a sum begins with a zero is left to the kernel, and so is the "
        "sign of a sum of zeros",
    .source = "torch.sum",
};

inline constexpr Operator mean_dim{
    .schema = parse_schema(
        "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    .formula = "the sum of self over the dimensions dim, all of them if none is named, divided by their size",
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: axes(self); dtype: dtype",
    .unobservable =
        "results.negative_zero_lost (f64 f32 bf16): whether a sum begins with a zero is left to the "
        "kernel, and so is the sign of a sum of zeros",
    .source = "torch.mean",
};

}  // namespace assay::ops
