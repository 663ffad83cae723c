// Convolution, forwards and transposed, of any strides and dimensions.
//
// For each group and movement of the window (cpu/windows.h) the output is K x P = (K x taps C) (taps C x P), P positions
// in all images: a matrix product (gemm.cu) of the weights, which are copied into that order, and of windows, which are
// never written down: two tables say where positions and taps lie. A window of one tap that does not leave the image is
// a plain matrix, and so are images. Groups of one channel, integers and windows of more than three dimensions go their own
// way (convolution_direct.h). Which way is chosen by the sizes of a group and the dtype alone.
#include "convolution.h"

#include "convolution_direct.h"
#include "ops/convolution.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Weights of all groups, row-major: [group][output][tap][input], rows `stride` elements apart, 0 after their ends: who
// reads whole vectors reads nothing that was never written.
// Budget: 40 registers, 4.81 sectors, 1.01 passes.
template <class W>
__global__ void convolution_weights_kernel(const W* weight, W* to, PlaceList terms, std::int64_t rows,
                                           std::int64_t depth, std::int64_t stride, std::int64_t outputs,
                                           std::int64_t group_stride, std::int64_t output_stride) {
  for (std::int64_t i = global_thread(); i < rows * stride; i += global_threads()) {
    const std::int64_t row = i / stride, k = i - row * stride, group = row / outputs;
    to[i] = k < depth ? weight[group * group_stride + (row - group * outputs) * output_stride +
                               place_of(terms, k).offset]
                      : W{};
  }
}

template <class W>
void order_weights(const View& weight, void* to, const PlaceList& terms, std::int64_t rows,
                   std::int64_t depth, std::int64_t stride, std::int64_t outputs, std::int64_t group_stride,
                   std::int64_t output_stride) {
  launch<convolution_weights_kernel<W>>(blocks_for(rows * stride, 256), 256, 0,
                                        static_cast<const W*>(weight.data), static_cast<W*>(to), terms, rows,
                                        depth, stride, outputs, group_stride, output_stride);
}

struct ConvolutionCall {
  const View& input;
  const View& weight;
  const View* bias;
  View& out;
  bool transposed;
  std::int64_t groups, inputs, outputs;

  std::int64_t weight_group() const { return (transposed ? inputs : outputs) * weight.stride(0); }
  std::int64_t weight_output() const { return weight.stride(transposed ? 1 : 0); }
  std::int64_t weight_input() const { return weight.stride(transposed ? 0 : 1); }

  void directly(const WindowMoves& m) const {
    const DirectConvolution c{.input = input.data,
                              .weight = weight.data,
                              .bias = bias == nullptr ? nullptr : bias->data,
                              .out = out.data,
                              .images = input.size(0),
                              .groups = groups,
                              .inputs = inputs,
                              .outputs = outputs,
                              .input_image = input.stride(0),
                              .input_channel = input.stride(1),
                              .weight_group = weight_group(),
                              .weight_output = weight_output(),
                              .weight_input = weight_input(),
                              .out_image = out.stride(0),
                              .out_channel = out.stride(1),
                              .bias_stride = bias == nullptr ? 0 : bias->stride(0),
                              .channels_fast = out.stride(1) == 1};
    const std::int64_t count = input.size(0) * groups * outputs * m.positions;
    if (is_float(out.type()) && inputs == 1 && m.dims <= 2) {
      constexpr WindowDim none{.positions = 1,
                               .taps = 1,
                               .size = 1,
                               .image_stride = 0,
                               .step = 0,
                               .first_tap = 0,
                               .tap_step = 0,
                               .out_stride = 0,
                               .weight_stride = 0};
      const WindowDim rows = m.dims == 2 ? m.dim[0] : none, columns = m.dims == 0 ? none : m.dim[m.dims - 1];
      return with_floating_point(out.type(), [&](auto x) {
        launch<convolution_planar_kernel<decltype(x)>>(blocks_for(count, 256), 256, 0, c, m, rows, columns);
      });
    }
    const auto go = [&](auto x) {
      launch<convolution_direct_kernel<decltype(x)>>(blocks_for(count, 256), 256, 0, c, m);
    };
    if (is_float(out.type()))
      with_floating_point(out.type(), go);
    else
      with_integer(out.type(), [&](auto x) { go(std::make_unsigned_t<decltype(x)>{}); });
  }

  void as_products(const cpu::Movement& movement, const WindowMoves& m) const {
    const std::int64_t depth = m.taps * inputs, bytes = out.dtype.bits / 8, images = input.size(0);
    // Whole vectors, so that rows can be read as such.
    const std::int64_t stride = (depth + 7) / 8 * 8, rows = groups * outputs;
    Memory weights(static_cast<std::size_t>(rows * stride * bytes));
    if (depth != 0) {
      const PlaceList terms = taps_in_weight(m, inputs, weight_input());
      (bytes == 8   ? order_weights<std::uint64_t>
       : bytes == 4 ? order_weights<std::uint32_t>
                    : order_weights<std::uint16_t>)(weight, weights.data(), terms, rows, depth, stride,
                                                    outputs, weight_group(), weight_output());
    }
    const GemmOperand a{
        .data = weights.data(), .outer_stride = stride, .k_stride = 1, .batch_stride = outputs * stride};
    GemmResult y{.data = out.data,
                 .row_stride = out.stride(1),
                 .column_stride = 1,
                 .batch_stride = outputs * out.stride(1)};
    if (bias != nullptr) {
      y.addend = bias->data;
      y.addend_row_stride = bias->stride(0);
      y.addend_batch_stride = outputs * bias->stride(0);
    }
    const auto spatial = [](const View& v) { return v.all_strides().subspan(2); };
    const std::int64_t in_place = cpu::in_place_step(movement, input.sizes().subspan(2), spatial(input));
    const std::int64_t out_step = cpu::out_step(movement, 0, m.positions, spatial(out));
    if (groups == 1 && in_place >= 0 && out_step >= 0 && depth != 0) {
      GemmOperand x = a;
      x.batch_stride = 0;
      y.data = static_cast<char*>(out.data) + m.out_first * bytes;
      y.column_stride = out_step;
      y.batch_stride = out.stride(0);
      y.addend_batch_stride = 0;
      return gemm(out.type(), {outputs, m.positions, depth, images}, x,
                  {.data = input.data,
                   .outer_stride = in_place,
                   .k_stride = input.stride(1),
                   .batch_stride = input.stride(0)},
                  y);
    }
    const Scratch<GemmPlace> positions = make_places(positions_in_image(m, images, input.stride(0)));
    const Scratch<GemmPlace> taps = make_places(taps_in_image(m, inputs, input.stride(1)));
    const Scratch<std::int64_t> offsets = make_offsets(positions_in_output(m, images, out.stride(0)));
    GemmOperand b{.data = input.data,
                  .outer_stride = 0,
                  .k_stride = 0,
                  .batch_stride = inputs * input.stride(1),
                  .outer_places = positions.data(),
                  .k_places = taps.data(),
                  .k_fast = input.stride(1) == 1 && inputs > 1};
    image_size(m, b.size);
    y.column_offsets = offsets.data();
    gemm(out.type(), {outputs, images * m.positions, depth, groups}, a, b, y);
  }
};

void convolve(const View& input, const View& weight, const View* bias,
              const cpu::WindowAttributes& attributes, bool transposed, std::int64_t groups, View& out) {
  if (out.numel() == 0) return;
  const ConvolutionCall call{
      input, weight, bias, out, transposed, groups, input.size(1) / groups, out.size(1) / groups};
  // A group's product has few rows, or a row few terms.
  const bool small = call.inputs == 1 && call.outputs < 8;
  for (const cpu::Movement& movement : cpu::movements(input.sizes().subspan(2), weight.sizes().subspan(2),
                                                      out.sizes().subspan(2), attributes, transposed)) {
    const WindowMoves m = window_moves(movement, input, weight, out);
    if (m.positions == 0) continue;
    if (small || !is_float(out.type()) || !in_tables(m))
      call.directly(m);
    else
      call.as_products(movement, m);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void convolution(const View& input, const View& weight, const View* bias,
                 std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                 std::span<const std::int64_t> dilation, bool transposed,
                 std::span<const std::int64_t> /*output_padding*/, std::int64_t groups, View& out) {
  convolve(input, weight, bias, {stride, padding, dilation}, transposed, groups, out);
}

constexpr assay_kernel convolution_kernels[] = {ASSAY_CUDA(
    ops::convolution, convolution,
    "chain=blocked(512) -- optimized/cuda/gemm.h, optimized/cuda/convolution_direct.h: sums of chunks, then their sum\n"
    "f16,bf16: addition=cut_off(1) -- optimized/cuda/mma.h: a tensor core's sums, in which zeros of the padding have their places")};
const Enrolled convolution_enrolled{convolution_kernels};

}  // namespace
}  // namespace assay::cuda
