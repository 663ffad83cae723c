// Images made larger or smaller by repeating or leaving out elements.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// ATen computes the source of an element in floating point, and the rounding of that is part of the definition here: f32
// for all dtypes, as its kernels for f32 do. Where f64 gives another element, as its kernels for f64 do, either is right.
// A scale that is given decides, as in its kernels for CUDA and in native/cpu/UpSampleKernel.cpp, HelperInterpNearest. ATen's other way on the
// CPU (native/UpSample.h, nearest_idx) ignores it where a dimension keeps its size or is doubled. Which of the two a call gets follows from
// layouts in PyTorch 1.13 and from sizes in 2.15 (height and width of 128 together at most), so that neither is ATen's definition.
inline constexpr Operator upsample_nearest2d{
    .schema = parse_schema(
        "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor"),
    .formula =
        "out[n,c,o] = self[n,c,min(floor(o * s), size - 1)] in both dimensions; s = 1 / scales, or size / output_size, "
        "rounded to f32 as the product is",
    .dtypes = kFloatingPoint | only(Dtype::u8),
    .in_integers = true,
    .shapes = "output_size=[P,Q] self=[N,C,H,W] -> [N,C,resized(P,Q)]",
    .domains = "scales_h: scale; scales_w: scale",
    .properties = kRowIndependent,
    .source =
        "torch.nn.functional.interpolate; ATen native/UpSample.h, nearest_neighbor_compute_source_index",
};

}  // namespace assay::ops
