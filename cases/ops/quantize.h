// Real numbers as integers with a scale and a zero point, and back.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

inline constexpr Operator quantize_per_tensor{
    .schema = parse_schema(
        "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor"),
    .formula =
        "round(self / scale) + zero_point, no less and no more than the dtype holds; ties go to even before "
        "zero_point is added, NaN becomes the least number",
    .dtypes = only(Dtype::u8) | only(Dtype::i8),
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [*]",
    .domains = "self: dtypes(f32); scale: scale; zero_point: zero_point(dtype); dtype: dtype",
    .properties = kElementwise,
    // Ties, divided by 1, 2 and 4, on either side of 0.
    .kinks = "0.5, 1.5, 2.5, 1, 3, 5, 2, 6, -0.5, -1.5, -2.5, -1, -3, -5, -2, -6",
    .source = "torch.quantize_per_tensor; Jacob et al. 2018, eq. 1 and 12",
};

inline constexpr Operator dequantize_per_tensor{
    .schema =
        parse_schema("assay::dequantize_per_tensor(Tensor self, float scale, int zero_point) -> Tensor"),
    .formula = "(self - zero_point) * scale",
    .dtypes = only(Dtype::f32),
    .shapes = "self=[*] -> [*]",
    .domains = "self: dtypes(u8, i8); scale: scale; zero_point: zero_point(self)",
    .properties = kElementwise,
    .unobservable =
        "results.negative_zero_lost: the formula never gives -0; "
        "results.nan_as_zero: the formula is never NaN",
    .source = "torch.dequantize, of a tensor with this scale and zero point; Jacob et al. 2018, eq. 1",
};

}  // namespace assay::ops
