// Matrix products.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator mm{
    .schema = parse_schema("mm(Tensor self, Tensor mat2) -> Tensor"),
    .formula = "out[i,j] = sum over k of self[i,k] * mat2[k,j]",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[M,K] mat2=[K,N] -> [M,N]",
    .properties = kRowIndependent,
    .unobservable =
        "results.negative_zero_lost (f64 f32 bf16): whether a sum begins with a zero is left to the "
        "kernel, and so is the sign of a sum of zeros",
    .source = "torch.mm",
};

// Of integers, ATen takes factors that are no integers, without what follows the point; here they are an error.
inline constexpr Operator addmm{
    .schema = parse_schema(
        "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    .formula = "out[i,j] = beta * self[i,j] + sum over k of alpha * mat1[i,k] * mat2[k,j]; beta = 0: no self",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[M,N]~ mat1=[M,K] mat2=[K,N] -> [M,N]",
    .domains = "beta: real; alpha: real",
    .unobservable =
        "results.negative_zero_lost (f64 f32 bf16): whether a sum begins with a zero is left to the "
        "kernel, and so is the sign of a sum of zeros",
    .source = "torch.addmm",
};

inline constexpr Operator bmm{
    .schema = parse_schema("bmm(Tensor self, Tensor mat2) -> Tensor"),
    .formula = "out[b,i,j] = sum over k of self[b,i,k] * mat2[b,k,j]",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[B,M,K] mat2=[B,K,N] -> [B,M,N]",
    .unobservable =
        "results.negative_zero_lost (f64 f32 bf16): whether a sum begins with a zero is left to the "
        "kernel, and so is the sign of a sum of zeros",
    .source = "torch.bmm",
};

inline constexpr Operator linear{
    .schema = parse_schema("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"),
    .formula = "out[..., j] = bias[j] + sum over k of input[..., k] * weight[j, k]",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "input=[*,K] weight=[N,K] bias=[N] -> [*,N]",
    .properties = kRowIndependent,
    .unobservable =
        "results.negative_zero_lost (f64 f32 bf16): whether a sum begins with a zero is left to the "
        "kernel, and so is the sign of a sum of zeros",
    .source = "torch.nn.functional.linear",
};

}  // namespace assay::ops
