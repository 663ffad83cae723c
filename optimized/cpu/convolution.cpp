// Convolution, forwards and transposed, of any strides and dimensions: products of matrices (gemm.cpp) of the weights
// and of gathered windows (windows.h).
//
// For each image, group and movement of the window the output is K x P = (K x taps C) (taps C x P): the weights are
// copied once into that order, the windows gathered a block of positions at a time, so that they stay in the L2 cache
// between being written and being packed. A window of one tap that does not leave the image is multiplied where it lies.
// Groups of one input channel make products of one row: they go another way (depthwise.cpp), to the same bits.
//
// The order of accumulation: gemm's, over taps and, within a tap, channels; zeros around the image are terms. A sum of n
// terms within the image is passed through at most 256 additions in a block and one more for each block that has some:
// at most 256 + n / 256 + 2 blocks for each row of taps, which is below 512 + n / 512 for every window of less than 100
// rows. The bias is the last term. Which positions share a block does not matter.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convolution.cpp"
#include "levels.h"

#include <cstring>
#include <span>
#include <vector>

#include "convolve.h"
#include "depthwise.h"
#include "gemm.h"
#include "ops/convolution.h"
#include "parallel.h"
#include "scratch.h"
#include "transpose.h"

#ifndef ASSAY_CPU_CONVOLUTION
#define ASSAY_CPU_CONVOLUTION
namespace assay::cpu {

constexpr std::int64_t kGatheredBytes = 1 << 19;
constexpr std::int64_t kLeastPositions = 96;
constexpr std::int64_t kConvolutionGrain = std::int64_t{1} << 20;  // multiplications worth another thread

// The channels of a convolution: `inputs` and `outputs` of each of `groups`.
struct Channels {
  std::int64_t groups, inputs, outputs;
};

}  // namespace assay::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

// The weights of all groups and movements: for each group and movement a matrix outputs x (taps, inputs), row-major.
template <class W>
void order_weights(W* to, const View& weight, const Channels& channels, std::span<const Movement> movements,
                   bool transposed) {
  const W* const data = static_cast<const W*>(weight.data);
  const std::int64_t by_output = weight.stride(transposed ? 1 : 0),
                     by_input = weight.stride(transposed ? 0 : 1);
  for (std::int64_t g = 0; g < channels.groups; ++g) {
    const W* const group = data + g * (transposed ? channels.inputs : channels.outputs) * weight.stride(0);
    for (const Movement& m : movements) {
      const std::vector<std::int64_t> offsets = tap_offsets(m, weight.all_strides().subspan(2));
      bool neighbours = channels.inputs > 1 && offsets.size() > 1;  // taps, in memory
      for (std::size_t t = 0; t < offsets.size(); ++t)
        neighbours = neighbours && offsets[t] == static_cast<std::int64_t>(t);
      for (std::int64_t k = 0; k < channels.outputs; ++k) {
        if (neighbours) {
          const auto count = static_cast<std::int64_t>(offsets.size());
          transpose_rows(to, channels.inputs, group + k * by_output, by_input, channels.inputs, count);
          to += channels.inputs * count;
          continue;
        }
        for (const std::int64_t offset : offsets)
          for (std::int64_t c = 0; c < channels.inputs; ++c)
            *to++ = group[k * by_output + c * by_input + offset];
      }
    }
  }
}

// The output of one image and group at positions [begin, end) of a movement.
struct Block {
  const View* bias;
  const View& input;
  View& out;
  const Channels& channels;
  const Movement& movement;
  const void* weights;
  std::int64_t image, group;
  std::int64_t begin, end;

  void compute() const {
    const int bytes = out.dtype.bits / 8;
    const std::int64_t columns = end - begin, depth = taps(movement) * channels.inputs;
    const auto in_strides = input.all_strides().subspan(2), out_strides = out.all_strides().subspan(2);
    const Image from{at(input, image * input.stride(0) + group * channels.inputs * input.stride(1)),
                     bytes,
                     channels.inputs,
                     input.stride(1),
                     input.sizes().subspan(2),
                     in_strides};
    const std::int64_t in_place = in_place_step(movement, from.sizes, in_strides);
    const std::int64_t step = out_step(movement, begin, end, out_strides);
    const std::int64_t kept = step < 0 ? channels.outputs * columns : 0;
    Scratch scratch(scratch_bytes<double>(in_place < 0 ? depth * columns : 0) + scratch_bytes<double>(kept));
    void* const windows = scratch.take<double>(in_place < 0 ? depth * columns : 0);
    void* const sums = scratch.take<double>(kept);

    Matrix b{windows, depth, columns, columns, 1};
    if (in_place >= 0) {
      b = {const_cast<char*>(static_cast<const char*>(from.data)) + begin * in_place * bytes, depth, columns,
           from.channel_stride, in_place};
    } else {
      gather_windows(windows, columns, from, movement, begin, end);
      if (gathers_rows(from)) b = {windows, depth, columns, 1, depth};
    }
    const Matrix a{const_cast<void*>(weights), channels.outputs, depth, depth, 1};
    Affine affine;
    if (bias != nullptr)
      affine = {Affine::kOne,
                Affine::kOne,
                {at(*bias, group * channels.outputs * bias->stride(0)), channels.outputs, columns,
                 bias->stride(0), 0}};
    const std::int64_t first = image * out.stride(0) + group * channels.outputs * out.stride(1);
    if (step >= 0) {
      char* const to = at(out, first + out_offset(movement, begin, out_strides));
      return gemm(out.type(), a, b, {to, channels.outputs, columns, out.stride(1), step == 0 ? 1 : step},
                  affine);
    }
    gemm(out.type(), a, b, {sums, channels.outputs, columns, columns, 1}, affine);
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t offset = first + out_offset(movement, p, out_strides);
      for (std::int64_t k = 0; k < channels.outputs; ++k)
        std::memcpy(at(out, offset + k * out.stride(1)),
                    static_cast<char*>(sums) + (k * columns + p - begin) * bytes,
                    static_cast<std::size_t>(bytes));
    }
  }
};

void convolution(const View& input, const View& weight, const View* bias,
                 std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                 std::span<const std::int64_t> dilation, bool transposed,
                 std::span<const std::int64_t> /*output_padding*/, std::int64_t groups, View& out) {
  convolve(input, weight, bias, {stride, padding, dilation}, transposed, groups, out);
}

}  // namespace

void convolve(const View& input, const View& weight, const View* bias, const WindowAttributes& attributes,
              bool transposed, std::int64_t groups, View& out) {
  if (out.numel() == 0) return;
  const Channels channels{groups, input.size(1) / groups, out.size(1) / groups};
  const std::vector<Movement> all = movements(input.sizes().subspan(2), weight.sizes().subspan(2),
                                              out.sizes().subspan(2), attributes, transposed);
  if (!transposed && depthwise(input, weight, bias, all[0], groups, out)) return;
  const int bytes = out.dtype.bits / 8;
  Scratch scratch(scratch_bytes<double>(weight.numel()));
  void* const weights = scratch.take<double>(weight.numel());
  if (bytes == 1)
    order_weights(static_cast<std::uint8_t*>(weights), weight, channels, all, transposed);
  else if (bytes == 2)
    order_weights(static_cast<std::uint16_t*>(weights), weight, channels, all, transposed);
  else if (bytes == 4)
    order_weights(static_cast<std::uint32_t*>(weights), weight, channels, all, transposed);
  else
    order_weights(static_cast<std::uint64_t*>(weights), weight, channels, all, transposed);

  std::int64_t per_group = 0;  // taps that no position looks through are left out
  for (const Movement& m : all) per_group += channels.outputs * taps(m) * channels.inputs;
  std::int64_t before = 0;  // weights of the movements before this one, in each group
  for (const Movement& m : all) {
    const std::int64_t count = positions(m), depth = taps(m) * channels.inputs;
    const std::int64_t room = kGatheredBytes / bytes / HWY_MAX(depth, std::int64_t{1});
    const bool whole = in_place_step(m, input.sizes().subspan(2), input.all_strides().subspan(2)) >= 0;
    const std::int64_t length = whole ? count : HWY_MIN(count, HWY_MAX(kLeastPositions, room / 16 * 16));
    const std::int64_t blocks = (count + length - 1) / length, tasks = input.size(0) * groups * blocks;
    const std::int64_t work = channels.outputs * HWY_MAX(depth, std::int64_t{1}) * length;
    parallel_for(tasks, 1 + kConvolutionGrain / work, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t block = task % blocks, group = task / blocks % groups;
        const char* const own = static_cast<const char*>(weights) + (group * per_group + before) * bytes;
        Block{bias,
              input,
              out,
              channels,
              m,
              own,
              task / blocks / groups,
              group,
              block * length,
              HWY_MIN(count, (block + 1) * length)}
            .compute();
      }
    });
    before += channels.outputs * depth;
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract =
    "chain=blocked(512) -- optimized/cpu/convolution.cpp: the order of accumulation";
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::convolution, convolution, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
