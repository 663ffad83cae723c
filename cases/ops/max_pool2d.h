// The largest number of each window of an image, and where it is.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// ATen's CPU kernels go through a window in row-major order and keep a number that is larger than what they hold, or NaN:
// of equal numbers, zeros of either sign among them, the first one counts, of several NaN the last. A window whose
// dilated taps all miss the plane gives -infinity, or the least integer, and the place where its first tap after the plane's
// start would be. Integers since PyTorch 2.1.
inline constexpr Operator max_pool2d_with_indices{
    .schema = parse_schema(
        "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
        "bool ceil_mode=False) -> (Tensor, Tensor)"),
    .formula =
        "out[..., o] = max over r within kernel_size of self[..., o*stride - padding + r*dilation], indices[..., o] = "
        "where it stands in its plane; of equal numbers the first one, NaN above all, of several the last",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .positions = 2,
    .shapes =
        "self=[N,C,H,W] -> [N,C,pooled(H,W)], [N,C,pooled(H,W)]; self=[C,H,W] -> [C,pooled(H,W)], [C,pooled(H,W)]",
    .domains = "kernel_size: window; stride: positives; padding: naturals; dilation: positives",
    .properties = kRowIndependent,
    .source = "torch.nn.functional.max_pool2d; ATen native/cpu/MaxPoolKernel.cpp",
};

// Whatever made the indices: they need not be those of a maximum, nor lie in the window of their element.
inline constexpr Operator max_pool2d_with_indices_backward{
    .schema = parse_schema(
        "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
        "int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor"),
    .formula =
        "out[..., i] = sum of grad_output[..., o] over all o in the same plane with indices[..., o] = i",
    .shapes =
        "self=[N,C,H,W] grad_output=[N,C,pooled(H,W)] indices=[N,C,pooled(H,W)] -> [N,C,H,W]; "
        "self=[C,H,W] grad_output=[C,pooled(H,W)] indices=[C,pooled(H,W)] -> [C,H,W]",
    .domains =
        "kernel_size: window; stride: positives; padding: naturals; dilation: positives; indices: place(self)",
    .gradient_of = "max_pool2d_with_indices(-, indices)",
    .unobservable =
        "results.negative_zero_lost: whether a sum begins with a zero is left to the kernel, and so is the "
        "sign of a sum of zeros; "
        "kernel_size.*: the indices say where gradients go; "
        "stride.*: the indices say where gradients go; "
        "padding.*: the indices say where gradients go; "
        "dilation.*: the indices say where gradients go",
    .source = "tools/autograd/derivatives.yaml of PyTorch, max_pool2d_with_indices",
};

inline constexpr Operator max_pool2d{
    .schema = parse_schema(
        "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
        "bool ceil_mode=False) -> Tensor"),
    .formula =
        "out[..., o] = max over r within kernel_size of self[..., o*stride - padding + r*dilation]; of equal numbers "
        "the first one, NaN above all",
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .shapes = "self=[N,C,H,W] -> [N,C,pooled(H,W)]; self=[C,H,W] -> [C,pooled(H,W)]",
    .domains = "kernel_size: window; stride: positives; padding: naturals; dilation: positives",
    .properties = kRowIndependent,
    .source = "torch.nn.functional.max_pool2d; ATen native/cpu/MaxPoolKernel.cpp",
};

}  // namespace assay::ops
