// Convolution of quantised images of any number of dimensions, in integers.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// PyTorch's quantized::conv1d, conv2d and conv3d take weights, bias and attributes packed as an object of a class; this is
// what they compute, with a bias of integers, whose scale is input_scale * weight_scale and whose zero point is 0.
inline constexpr Operator quantized_convolution{
    .schema = parse_schema(
        "assay::quantized_convolution(Tensor input, Tensor weight, Tensor weight_scale, Tensor weight_zero_point, "
        "Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups, float input_scale, int "
        "input_zero_point, float output_scale, int output_zero_point) -> Tensor"),
    .formula =
        "sum = bias[k] + sum over c, r of (input[n, c, o*stride - padding + r*dilation] - input_zero_point) * "
        "(weight[k,c,r] - weight_zero_point[k]), exactly, nothing around the input, channels c of k's group; "
        "out[n,k,o] = round(sum * (input_scale * weight_scale[k] / output_scale)) + output_zero_point, from 0 to 255; "
        "ties go to even before output_zero_point is added, NaN becomes 0",
    .dtypes = only(Dtype::u8),
    .shapes =
        "groups=G input=[N,G*C,+S] weight=[G*K,C,*R<S] weight_scale=[1] weight_zero_point=[1] bias=[G*K] -> "
        "[N,G*K,convolved(*S,*R)]; "
        "groups=G input=[N,G*C,+S] weight=[G*K,C,*R<S] weight_scale=[G*K] weight_zero_point=[G*K] bias=[G*K] -> "
        "[N,G*K,convolved(*S,*R)]",
    .domains =
        "weight: dtypes(i8); weight_scale: scales; weight_zero_point: zero_points(weight); bias: dtypes(i32); "
        "stride: positives(input); padding: naturals(input); dilation: positives(input); input_scale: scale; "
        "input_zero_point: zero_point(input); output_scale: scale; output_zero_point: zero_point(input)",
    .properties = kRowIndependent,
    .unobservable =
        "weight_scale.nan_as_zero: scales are positive normal numbers; "
        "weight_scale.infinity_as_zero: scales are positive normal numbers; "
        "weight_scale.subnormal_as_zero: scales are positive normal numbers; "
        "weight_scale.sign_lost: scales are positive normal numbers; "
        "weight_zero_point.in_half_the_bits: half the bits of an i64 hold every zero point",
    .source = "Jacob et al. 2018, eq. 4 to 11; torch.ao.nn.quantized.functional.conv2d",
};

}  // namespace assay::ops
