// Convolution of u8 images with i8 weights, in integers: a product (quantized.h) of windows and weights, both looked up in
// tables of positions and taps, with the zero point of the input around the image. Windows of more than three dimensions
// are summed up by a thread for each element of the output.
#include "ops/quantized_convolution.h"

#include "convolution_places.h"
#include "quantized.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct QuantizedDirect {
  std::int64_t images, groups, inputs;
  std::int64_t input_image, input_channel, weight_output, weight_input, out_image;
};

// Of `q`: columns are the channels of a group's output, strides and numbers; not what is looked up.
// Budget: 62 registers.
__global__ void quantized_direct_kernel(QuantizedProduct q, QuantizedDirect c, WindowMoves m) {
  const std::int64_t channels = c.groups * q.columns, count = c.images * channels * m.positions;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    std::int64_t position = i % m.positions;
    const std::int64_t channel = i / m.positions % channels, image = i / m.positions / channels;
    const auto* const from = static_cast<const std::uint8_t*>(q.x.data) + image * c.input_image +
                             channel / q.columns * c.inputs * c.input_channel;
    const auto* const by =
        static_cast<const std::int8_t*>(q.w.data) + channel * c.weight_output + m.weight_first;
    const std::int64_t zero = q.zero_point[channel * q.zero_point_stride];
    std::int64_t to = image * c.out_image + channel * q.column_stride + m.out_first;
    std::int64_t start[kWindowDims];
    for (int d = m.dims - 1; d >= 0; --d) {
      const std::int64_t at = position % m.dim[d].positions;
      position /= m.dim[d].positions;
      start[d] = at * m.dim[d].step + m.dim[d].first_tap;
      to += at * m.dim[d].out_stride;
    }
    std::int64_t total = q.bias == nullptr ? 0 : q.bias[channel * q.bias_stride];
    for (std::int64_t t = 0; t < m.taps; ++t) {
      std::int64_t tap = t, see = 0, factor = 0;
      bool inside = true;
      for (int d = m.dims - 1; d >= 0; --d) {
        const WindowDim& w = m.dim[d];
        const std::int64_t at = start[d] + tap % w.taps * w.tap_step;
        inside = inside && at >= 0 && at < w.size;
        see += at * w.image_stride;
        factor += tap % w.taps * w.weight_stride;
        tap /= w.taps;
      }
      if (!inside) continue;
      for (std::int64_t k = 0; k < c.inputs; ++k)
        total +=
            (from[see + k * c.input_channel] - q.input_zero_point) * (by[factor + k * c.weight_input] - zero);
    }
    q.out[to] = requantized(total, q.input_scale * q.scale[channel * q.scale_stride] / q.output_scale,
                            q.output_zero_point);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void quantized_convolution(const View& input, const View& weight, const View& weight_scale,
                           const View& weight_zero_point, const View* bias,
                           std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                           std::span<const std::int64_t> dilation, std::int64_t groups, double input_scale,
                           std::int64_t input_zero_point, double output_scale, std::int64_t output_zero_point,
                           View& out) {
  if (out.numel() == 0) return;
  const cpu::Movement movement = cpu::movements(input.sizes().subspan(2), weight.sizes().subspan(2),
                                                out.sizes().subspan(2), {stride, padding, dilation}, false)
                                     .front();
  const WindowMoves m = window_moves(movement, input, weight, out);
  const std::int64_t channels = weight.size(1), outputs = weight.size(0) / groups, images = input.size(0);
  QuantizedProduct q{};
  q.rows = images * m.positions;
  q.columns = outputs;
  q.terms = channels * m.taps;
  q.input_scale = static_cast<float>(input_scale);
  q.output_scale = static_cast<float>(output_scale);
  q.input_zero_point = input_zero_point;
  q.output_zero_point = output_zero_point;
  q.out = out.as<std::uint8_t>();
  q.column_stride = out.stride(1);
  if (!in_tables(m)) {
    q.x.data = input.data;
    q.w.data = weight.data;
    q.set_columns(weight_scale, weight_zero_point, bias);
    const QuantizedDirect c{images,          groups,           channels,         input.stride(0),
                            input.stride(1), weight.stride(0), weight.stride(1), out.stride(0)};
    return launch<quantized_direct_kernel>(blocks_for(out.numel(), 256), 256, 0, q, c, m);
  }
  const Scratch<GemmPlace> positions = make_places(positions_in_image(m, images, input.stride(0)));
  const Scratch<GemmPlace> taps = make_places(taps_in_image(m, channels, input.stride(1)));
  const Scratch<std::int64_t> offsets = make_offsets(positions_in_output(m, images, out.stride(0)));
  const Scratch<GemmPlace> weight_rows = make_places({0, 1, 0, outputs, weight.stride(0), 0, {}});
  const Scratch<GemmPlace> weight_taps = make_places(taps_in_weight(m, channels, weight.stride(1)));
  GemmOperand x{.data = input.data,
                .outer_stride = 0,
                .k_stride = 0,
                .batch_stride = channels * input.stride(1),
                .outer_places = positions.data(),
                .k_places = taps.data()};
  image_size(m, x.size);
  q.x = gemm_source(x, 1, groups);
  q.w = gemm_source({.data = weight.data,
                     .outer_stride = 0,
                     .k_stride = 0,
                     .batch_stride = outputs * weight.stride(0),
                     .outer_places = weight_rows.data(),
                     .k_places = weight_taps.data()},
                    1, groups);
  q.batch_stride = outputs * out.stride(1);
  q.row_offsets = offsets.data();
  multiply_quantized(q, groups, out.stride(1) != 1, weight_scale, weight_zero_point, bias);
}

constexpr assay_kernel quantized_convolution_kernels[] = {
    ASSAY_CUDA(ops::quantized_convolution, quantized_convolution, nullptr)};
const Enrolled quantized_convolution_enrolled{quantized_convolution_kernels};

}  // namespace
}  // namespace assay::cuda
