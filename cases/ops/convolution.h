// Convolution of images of any number of dimensions, forwards and transposed, and its gradient.
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
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes =
        "transposed=false groups=G input=[N,G*C,+S] weight=[G*K,C,*R<S] bias=[G*K] -> "
        "[N,G*K,convolved(*S,*R)]; "
        "transposed=true groups=G input=[N,G*C,+S] weight=[G*C,K,*R<S] bias=[G*K] -> "
        "[N,G*K,transposed(*S,*R)]",
    .domains =
        "stride: positives(input); padding: naturals(input); dilation: positives(input); "
        "output_padding: naturals(input)",
    .properties = kRowIndependent,
    .unobservable =
        "results.negative_zero_lost (f64 f32 bf16): whether a sum begins with a zero is left to the "
        "kernel, and so is the sign of a sum of zeros",
    .source = "torch.nn.functional.conv2d, torch.nn.functional.conv_transpose2d",
};

// torch.ops.aten.convolution_backward; bias_sizes says nothing that the rule does not.
inline constexpr Operator convolution_backward{
    .schema = parse_schema(
        "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, "
        "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) "
        "-> (Tensor, Tensor, Tensor)"),
    .formula =
        "of out = convolution(input, weight, bias): grad_input[n,c,i] = sum of grad_output[n,k,o] * weight, over "
        "the k, o and taps that look at it; grad_weight likewise, of grad_output * input; grad_bias[k] = sum of "
        "grad_output[n,k,o] over n, o",
    .shapes =
        "transposed=false groups=G input=[N,G*C,+S] weight=[G*K,C,*R<S] bias_sizes=[G*K] "
        "grad_output=[N,G*K,convolved(*S,*R)] -> [N,G*C,*S], [G*K,C,*R], [G*K]; "
        "transposed=true groups=G input=[N,G*C,+S] weight=[G*C,K,*R<S] bias_sizes=[G*K] "
        "grad_output=[N,G*K,transposed(*S,*R)] -> [N,G*C,*S], [G*C,K,*R], [G*K]",
    .domains =
        "stride: positives(input); padding: naturals(input); dilation: positives(input); "
        "output_padding: naturals(input); output_mask: mask",
    .gradient_of = "convolution()",
    .unobservable =
        "results.negative_zero_lost (f64 f32 bf16): whether a sum begins with a zero is left to the "
        "kernel, and so is the sign of a sum of zeros",
    .source = "torch.nn.grad, tools/autograd/derivatives.yaml of PyTorch, convolution",
};

}  // namespace assay::ops
