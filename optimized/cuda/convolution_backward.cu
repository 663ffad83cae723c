// The gradients of a convolution. That of the input is a convolution of the other kind (convolution.cu). That of the weight
// is, for each group, a matrix product over the positions of all images (gemm.cu), A x (taps B) = (A x P)(P x taps B), of
// matrices that are looked up: of the one image that has the window's positions, and of what its taps see in the other.
// grad_output has the positions, or, transposed, input. Weights of groups of one channel, and biases, are sums that blocks
// share (position_sums.h).
#include <optional>

#include "convolution.h"
#include "ops/convolution.h"
#include "position_sums.h"

namespace assay::cuda {
namespace {

// How single points move over these images: one tap, that sees them.
WindowMoves points(const View& images) {
  WindowMoves m{};
  m.positions = m.taps = 1;
  for (int d = 2; d < images.rank(); ++d) {
    m.positions *= images.size(d);
    if (images.size(d) == 1) continue;
    if (m.dims == kWindowDims)
      throw Refused("windows that move in more than 24 dimensions are not supported");
    m.dim[m.dims++] = {.positions = images.size(d),
                       .taps = 1,
                       .size = images.size(d),
                       .image_stride = images.stride(d),
                       .step = 1,
                       .first_tap = 0,
                       .tap_step = 0,
                       .out_stride = images.stride(d),
                       .weight_stride = 0};
  }
  return m;
}

void grad_bias_of(const View& grad, View& out) {
  if (out.numel() == 0) return;
  const WindowMoves m = points(grad);
  const PositionSums s{.from = grad.data,
                       .image = nullptr,
                       .images = grad.size(0),
                       .from_image = grad.stride(0),
                       .from_channel = grad.stride(1),
                       .image_image = 0,
                       .image_channel = 0,
                       .rows = grad.size(1),
                       .columns = 1,
                       .slices = 1,
                       .slice = 0};
  with_floating_point(out.type(), [&](auto x) {
    sum_positions<decltype(x)>(s, m, grad.size(1), out.stride(0), 0, out.data);
  });
}

void grad_weight_of(const View& from, const View& image, const cpu::WindowAttributes& attributes,
                    std::int64_t groups, View& out) {
  if (out.numel() == 0) return;
  const cpu::Movement movement = cpu::movements(image.sizes().subspan(2), out.sizes().subspan(2),
                                                from.sizes().subspan(2), attributes, false)
                                     .front();
  const WindowMoves m = window_moves(movement, image, out, from);
  const std::int64_t rows = from.size(1) / groups, channels = image.size(1) / groups, images = from.size(0);
  if ((rows < 8 && channels == 1) || !in_tables(m)) {
    const PositionSums s{.from = from.data,
                         .image = image.data,
                         .images = images,
                         .from_image = from.stride(0),
                         .from_channel = from.stride(1),
                         .image_image = image.stride(0),
                         .image_channel = image.stride(1),
                         .rows = rows,
                         .columns = channels,
                         .slices = 1,
                         .slice = 0};
    return with_floating_point(out.type(), [&](auto x) {
      sum_positions<decltype(x)>(s, m, from.size(1), out.stride(0), out.stride(1), out.data);
    });
  }
  const Scratch<GemmPlace> from_rows = make_places({0, 1, 0, rows, from.stride(1), 0, {}});
  const Scratch<GemmPlace> from_positions = make_places(positions_in_output(m, images, from.stride(0)));
  const Scratch<GemmPlace> image_taps = make_places(taps_in_image(m, channels, image.stride(1)));
  const Scratch<GemmPlace> image_positions = make_places(positions_in_image(m, images, image.stride(0)));
  const Scratch<std::int64_t> offsets = make_offsets(taps_in_weight(m, channels, out.stride(1)));
  const GemmOperand a{.data = from.data,
                      .outer_stride = 0,
                      .k_stride = 0,
                      .batch_stride = rows * from.stride(1),
                      .outer_places = from_rows.data(),
                      .k_places = from_positions.data(),
                      .k_fast = from.stride(1) != 1 || rows == 1};
  GemmOperand b{.data = image.data,
                .outer_stride = 0,
                .k_stride = 0,
                .batch_stride = channels * image.stride(1),
                .outer_places = image_taps.data(),
                .k_places = image_positions.data(),
                .k_fast = image.stride(1) != 1 || channels == 1};
  image_size(m, b.size);
  gemm(out.type(), {rows, channels * m.taps, images * m.positions, groups}, a, b,
       {.data = out.data,
        .row_stride = out.stride(0),
        .column_stride = 1,
        .batch_stride = rows * out.stride(0),
        .column_offsets = offsets.data()});
}

void convolution_backward(const View& grad_output, const View& input, const View& weight,
                          std::optional<std::span<const std::int64_t>> /*bias_sizes*/,
                          std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                          std::span<const std::int64_t> dilation, bool transposed,
                          std::span<const std::int64_t> /*output_padding*/, std::int64_t groups,
                          std::span<const std::int64_t> output_mask, View& grad_input, View& grad_weight,
                          View& grad_bias) {
  const cpu::WindowAttributes attributes{stride, padding, dilation};
  if (output_mask[0] != 0)
    convolve(grad_output, weight, nullptr, attributes, !transposed, groups, grad_input);
  if (output_mask[1] != 0)
    grad_weight_of(transposed ? input : grad_output, transposed ? grad_output : input, attributes, groups,
                   grad_weight);
  if (output_mask[2] != 0) grad_bias_of(grad_output, grad_bias);
}

constexpr assay_kernel convolution_backward_kernels[] = {ASSAY_CUDA(
    ops::convolution_backward, convolution_backward,
    "chain=blocked(512) -- optimized/cuda/gemm.h, optimized/cuda/position_sums.h: sums of chunks, then their sum\n"
    "f16,bf16: addition=cut_off(1) -- optimized/cuda/mma.h: a tensor core's sums, in which zeros of the padding have their places")};
const Enrolled convolution_backward_enrolled{convolution_backward_kernels};

}  // namespace
}  // namespace assay::cuda
