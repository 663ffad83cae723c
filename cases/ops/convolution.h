// Convolution of images of any number of dimensions, forwards and transposed.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator convolution{
    .schema = parse_schema(
        "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
        "bool transposed, int[] output_padding, int groups) -> Tensor"),
    .formula =
        "out[n,k,o] = bias[k] + sum over c, r of input[n, c, o*stride - padding + r*dilation] * weight[k,c,r], "
        "zeros around the input, channels c of k's group; transposed: input[n, c, i] * weight[c,k,r] where "
        "o = i*stride - padding + r*dilation",
    .shapes =
        "transposed=false groups=G input=[N,G*C,+S] weight=[G*K,C,*R<S] bias=[G*K] -> "
        "[N,G*K,convolved(*S,*R)]; "
        "transposed=true groups=G input=[N,G*C,+S] weight=[G*C,K,*R<S] bias=[G*K] -> "
        "[N,G*K,transposed(*S,*R)]",
    .domains =
        "stride: positives(input); padding: naturals(input); dilation: positives(input); "
        "output_padding: naturals(input)",
    .properties = kRowIndependent,
    .source = "torch.nn.functional.conv2d, torch.nn.functional.conv_transpose2d",
};

}  // namespace assay::ops
