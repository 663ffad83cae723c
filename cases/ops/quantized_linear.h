// Matrix products of quantised tensors, in integers.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// PyTorch's quantized::linear takes weights that it packed itself, as an object of a class; this is what it computes,
// with a bias of integers, whose scale is input_scale * weight_scale and whose zero point is 0.
inline constexpr Operator quantized_linear{
    .schema = parse_schema(
        "assay::quantized_linear(Tensor input, Tensor weight, Tensor weight_scale, Tensor weight_zero_point, "
        "Tensor? bias, float input_scale, int input_zero_point, float output_scale, int output_zero_point) -> Tensor"),
    .formula =
        "sum = bias[j] + sum over k of (input[..., k] - input_zero_point) * (weight[j, k] - weight_zero_point[j]), "
        "exactly; out[..., j] = round(sum * (input_scale * weight_scale[j] / output_scale)) + output_zero_point, from "
        "0 to 255; ties go to even before output_zero_point is added, NaN becomes 0",
    .dtypes = only(Dtype::u8),
    .shapes =
        "input=[*,K] weight=[N,K] weight_scale=[1] weight_zero_point=[1] bias=[N] -> [*,N]; "
        "input=[*,K] weight=[N,K] weight_scale=[N] weight_zero_point=[N] bias=[N] -> [*,N]",
    .domains =
        "weight: dtypes(i8); weight_scale: scales; weight_zero_point: zero_points(weight); bias: dtypes(i32); "
        "input_scale: scale; input_zero_point: zero_point(input); output_scale: scale; "
        "output_zero_point: zero_point(input)",
    .properties = kRowIndependent,
    .unobservable =
        "weight_scale.nan_as_zero: scales are positive normal numbers; "
        "weight_scale.infinity_as_zero: scales are positive normal numbers; "
        "weight_scale.subnormal_as_zero: scales are positive normal numbers; "
        "weight_scale.sign_lost: scales are positive normal numbers; "
        "weight_zero_point.in_half_the_bits: half the bits of an i64 hold every zero point",
    .source = "Jacob et al. 2018, eq. 4 to 11",
};

}  // namespace assay::ops
