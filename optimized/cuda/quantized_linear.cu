// Matrix products of u8 inputs and i8 weights, in integers: see quantized.h.
#include "ops/quantized_linear.h"

#include "geometry/without.h"
#include "quantized.h"

namespace assay::cuda {
namespace {

// Rows of the input that lie at one distance from each other make a matrix; the others follow one by one.
void quantized_linear(const View& input, const View& weight, const View& weight_scale,
                      const View& weight_zero_point, const View* bias, double input_scale,
                      std::int64_t input_zero_point, double output_scale, std::int64_t output_zero_point,
                      View& out) {
  if (out.numel() == 0) return;
  const int last = input.rank() - 1;
  const View* const views[] = {&out, &input};
  const cpu::Space rows = cpu::space_without(last, views, 2);
  const std::int64_t length = rows.rank == 0 ? 1 : rows.size[0];
  for (std::int64_t i = 0; i < rows.count; i += length) {
    std::int64_t to = 0, from = 0, rest = i / length;
    for (std::size_t d = 1; d < static_cast<std::size_t>(rows.rank); ++d) {
      to += rest % rows.size[d] * rows.stride[0][d];
      from += rest % rows.size[d] * rows.stride[1][d];
      rest /= rows.size[d];
    }
    QuantizedProduct q{};
    q.x = gemm_source({.data = input.as<const std::uint8_t>() + from,
                       .outer_stride = rows.step(1),
                       .k_stride = input.stride(last)},
                      1, 1);
    q.w = gemm_source({.data = weight.data, .outer_stride = weight.stride(0), .k_stride = weight.stride(1)},
                      1, 1);
    q.rows = length;
    q.columns = weight.size(0);
    q.terms = weight.size(1);
    q.input_scale = static_cast<float>(input_scale);
    q.output_scale = static_cast<float>(output_scale);
    q.input_zero_point = input_zero_point;
    q.output_zero_point = output_zero_point;
    q.out = out.as<std::uint8_t>() + to;
    q.row_stride = rows.step(0);
    q.column_stride = out.stride(last);
    multiply_quantized(q, 1, q.row_stride == 1, weight_scale, weight_zero_point, bias);
  }
}

constexpr assay_kernel quantized_linear_kernels[] = {
    ASSAY_CUDA(ops::quantized_linear, quantized_linear, nullptr)};
const Enrolled quantized_linear_enrolled{quantized_linear_kernels};

}  // namespace
}  // namespace assay::cuda
