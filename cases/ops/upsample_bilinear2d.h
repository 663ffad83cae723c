// Images made larger or smaller by going in straight lines from element to element.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// The source of an element is computed in the format that all is computed in, and its rounding error is one of the kernel's.
// A scale may lead beyond the last element, where the last one counts: PyTorch 2 says so (guard_index_and_lambda), and
// PyTorch 1.13 reads what lies after the image. In a dimension whose size stays x is o, whatever the
// scale, and k stands for k + 1.
inline constexpr Operator upsample_bilinear2d{
    .schema = parse_schema(
        "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
        "float? scales_w=None) -> Tensor"),
    .formula =
        "out[n,c,o] = (1 - l) * self[n,c,k] + l * self[n,c,k+1] in both dimensions; k = floor(x) and l = x - k, x = o * (size "
        "- 1) / (output_size - 1) with align_corners, else max((o + 0.5) * s - 0.5, 0), s = 1 / scales, or size / output_size; "
        "where output_size is size, k = o and nothing of k+1, whatever scales is",
    .shapes = "output_size=[P,Q] self=[N,C,H,W] -> [N,C,resized(P,Q)]",
    .domains = "scales_h: scale; scales_w: scale",
    .properties = kRowIndependent,
    .source =
        "torch.nn.functional.interpolate; ATen native/UpSample.h, area_pixel_compute_source_index and "
        "compute_source_index_and_lambda",
};

}  // namespace assay::ops
