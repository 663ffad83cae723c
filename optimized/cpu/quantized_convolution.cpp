// Convolution of u8 images with i8 weights, in integers: windows are gathered into rows (windows.h), a block of positions
// at a time, with the zero point of the input around the image, and multiplied as quantized.h says.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/quantized_convolution.cpp"
#include "levels.h"

#include <span>
#include <vector>

#include "../geometry/windows.h"
#include "copy.h"
#include "ops/quantized_convolution.h"
#include "parallel.h"
#include "quantized.h"
#include "scratch.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGatheredBytes = 1 << 16;
constexpr std::int64_t kGrain = 1 << 18;  // products that are worth another thread

// Positions [begin, end) of the movement, as rows of terms.
void gather_rows(std::uint8_t* rows, std::uint8_t* columns, const Image& image, const Movement& movement,
                 std::int64_t begin, std::int64_t end) {
  if (gathers_rows(image)) return gather_windows(rows, end - begin, image, movement, begin, end);
  gather_windows(columns, end - begin, image, movement, begin, end);
  const std::int64_t terms = taps(movement) * image.channels, n = end - begin;
  for (std::int64_t t = 0; t < terms; ++t)
    for (std::int64_t p = 0; p < n; ++p) rows[p * terms + t] = columns[t * n + p];
}

void run(const View& input, const View& weight, const View& weight_scale, const View& weight_zero_point,
         const View* bias, std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
         std::span<const std::int64_t> dilation, std::int64_t groups, double input_scale,
         std::int64_t input_zero_point, double output_scale, std::int64_t output_zero_point, View& out) {
  if (out.numel() == 0) return;
  const Movement movement = movements(input.sizes().subspan(2), weight.sizes().subspan(2),
                                      out.sizes().subspan(2), {stride, padding, dilation}, false)[0];
  const std::vector<std::int64_t> offsets = tap_offsets(movement, weight.all_strides().subspan(2));
  const std::int64_t channels = weight.size(1), outputs = weight.size(0) / groups;
  const std::int64_t terms = taps(movement) * channels;

  // Rows of weights in the order of the gathered ones: taps, and channels within a tap.
  Scratch scratch(scratch_bytes<std::int8_t>(weight.size(0) * terms) +
                  scratch_bytes<QuantizedColumn>(weight.size(0)));
  auto* const packed = scratch.take<std::int8_t>(weight.size(0) * terms);
  auto* const column = scratch.take<QuantizedColumn>(weight.size(0));
  for (std::int64_t k = 0; k < weight.size(0); ++k) {
    std::int8_t* const row = packed + k * terms;
    std::int8_t* to = row;
    for (const std::int64_t offset : offsets) {
      copy_row(to, 1, weight.as<const std::int8_t>() + k * weight.stride(0) + offset, weight.stride(1),
               channels);
      to += channels;
    }
    column[k] =
        quantized_column(k, row, terms, weight_scale, weight_zero_point, bias, input_scale, output_scale);
  }

  const auto in_strides = input.all_strides().subspan(2), out_strides = out.all_strides().subspan(2);
  const std::int64_t count = positions(movement);
  const std::int64_t length = HWY_MIN(count, HWY_MAX(std::int64_t{16}, kGatheredBytes / terms));
  const std::int64_t blocks = (count + length - 1) / length;
  const std::int64_t work = outputs * terms * length;
  parallel_for(input.size(0) * groups * blocks, 1 + kGrain / work,
               [&](std::int64_t first, std::int64_t last) HWY_ATTR {
                 Scratch own(2 * scratch_bytes<std::uint8_t>(terms * length));
                 auto* const rows = own.take<std::uint8_t>(terms * length);
                 auto* const columns = own.take<std::uint8_t>(terms * length);
                 for (std::int64_t task = first; task < last; ++task) {
                   const std::int64_t g = task / blocks % groups, n = task / blocks / groups;
                   const std::int64_t begin = task % blocks * length, end = HWY_MIN(count, begin + length);
                   const Image image{at(input, n * input.stride(0) + g * channels * input.stride(1)),
                                     1,
                                     channels,
                                     input.stride(1),
                                     input.sizes().subspan(2),
                                     in_strides,
                                     static_cast<std::uint64_t>(input_zero_point)};
                   gather_rows(rows, columns, image, movement, begin, end);
                   const QuantizedWeights weights{packed + g * outputs * terms,
                                                  column + g * outputs,
                                                  outputs,
                                                  terms,
                                                  input_zero_point,
                                                  output_zero_point};
                   std::uint8_t* const y =
                       out.as<std::uint8_t>() + n * out.stride(0) + g * outputs * out.stride(1);
                   const std::int64_t start = out_offset(movement, begin, out_strides);
                   const std::int64_t step = out_step(movement, begin, end, out_strides);
                   for (std::int64_t p = begin; p < end; ++p)
                     multiply_quantized(
                         y + (step < 0 ? out_offset(movement, p, out_strides) : start + (p - begin) * step),
                         out.stride(1), rows + (p - begin) * terms, weights);
                 }
               });
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::quantized_convolution, run, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
