// The gradients of a convolution. That of the input is a convolution of the other kind (convolution.cpp). Those of weight
// and bias are sums over positions, as products of matrices (gemm.cpp).
//
// One image has the positions of the window and the other one is looked at: grad_output and input, or, transposed, input
// and grad_output. For each group grad_weight is A x (taps B) = (A x P)(P x taps B), with A channels of the first, B of
// the second and P positions in all images together; windows are gathered (windows.h) for up to kPositions of them and a
// block of channels at a time, converted to the compute type. grad_bias is the product of grad_output with ones.
//
// The order of accumulation: gemm's within kPositions, 256 terms and one more addition; then up to kSteps such sums one
// after the other, and those in order. That depends on sizes alone, not on threads. Positions from which a tap does not
// see the image are terms that are 0. A term passes at most 256 + 2 + kSteps additions and one for every
// kSteps * kPositions positions: fewer than 512 + n / 512, if one position in a hundred sees the image.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convolution_backward.cpp"
#include "levels.h"

#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "convolve.h"
#include "gather.h"
#include "gemm.h"
#include "ops/convolution.h"
#include "parallel.h"
#include "scratch.h"

#ifndef ASSAY_CPU_CONVOLUTION_BACKWARD
#define ASSAY_CPU_CONVOLUTION_BACKWARD
namespace assay::cpu {

constexpr std::int64_t kPositions = 512;
constexpr std::int64_t kPositionsOfLargeWindows = 64;
constexpr std::int64_t kSteps = 128;
constexpr std::int64_t kGatheredRows = 256;  // of a block of channels, if one channel has not more
constexpr std::int64_t kLargeWindow = 1024;
constexpr std::int64_t kSpans = 8;  // into which the positions are cut where there are few blocks

// Channels of a tensor of images, and how a window moves over them.
struct Moving {
  const View& images;
  std::int64_t first, channels;
  const Movement& movement;

  std::int64_t rows() const { return taps(movement) * channels; }
};

// A window of one tap, so that gathering is copying.
inline Movement points(std::span<const std::int64_t> sizes) {
  Movement m;
  for (const std::int64_t n : sizes) m.push_back({n, 0, 1, 1, {{0, 0}}});
  return m;
}

// The positions of all images, cut into spans, and those into steps: by their number alone.
struct Cut {
  std::int64_t positions, step, spans;

  Cut(std::int64_t n, std::int64_t rows, std::int64_t blocks)
      : positions(n), step(rows > kLargeWindow ? kPositionsOfLargeWindows : kPositions) {
    const std::int64_t steps = (n + step - 1) / step;
    spans = HWY_MAX(HWY_MAX(std::int64_t{1}, (steps + kSteps - 1) / kSteps),
                    blocks < kSpans ? HWY_MIN(steps, kSpans) : 1);
  }
  std::int64_t steps() const { return (positions + step - 1) / step; }
  std::int64_t begin(std::int64_t span) const { return HWY_MIN(steps() * span / spans * step, positions); }
};

}  // namespace assay::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

// Rows of windows of positions [begin, end), counted through the images: a matrix of the compute type in `to`. `raw` has
// as much room, and may be `to`.
template <class T>
Matrix gathered(const Moving& m, std::int64_t begin, std::int64_t end, T* raw, Compute<T>* to) {
  const View& v = m.images;
  const std::int64_t rows = m.rows(), columns = end - begin, count = positions(m.movement);
  const bool by_rows = gathers_rows({v.data, static_cast<int>(sizeof(T)), m.channels, v.stride(1),
                                     v.sizes().subspan(2), v.all_strides().subspan(2)});
  for (std::int64_t q = begin; q < end;) {
    const std::int64_t image = q / count, p = q % count, here = HWY_MIN(count - p, end - q);
    const Image from{at(v, image * v.stride(0) + m.first * v.stride(1)),
                     static_cast<int>(sizeof(T)),
                     m.channels,
                     v.stride(1),
                     v.sizes().subspan(2),
                     v.all_strides().subspan(2)};
    gather_windows(raw + (q - begin) * (by_rows ? rows : 1), columns, from, m.movement, p, p + here);
    q += here;
  }
  if constexpr (is_half<T>) gather(to, raw, v.type(), 1, v.type(), rows * columns);
  return by_rows ? Matrix{to, rows, columns, 1, rows} : Matrix{to, rows, columns, columns, 1};
}

// result[i, j] = sum over positions [begin, end) of left's row i times right's row j, or, without right, times 1.
template <class T>
void multiply_positions(const Moving& left, const Moving* right, std::int64_t begin, std::int64_t end,
                        std::int64_t step, Compute<T>* result) {
  using C = Compute<T>;
  constexpr Dtype type = std::is_same_v<C, double> ? Dtype::f64 : Dtype::f32;
  const std::int64_t m = left.rows(), n = right == nullptr ? 1 : right->rows();
  Scratch scratch(2 * scratch_bytes<C>(m * step) + 2 * scratch_bytes<C>(n * step) + scratch_bytes<C>(m * n));
  C* const left_to = scratch.take<C>(m * step);
  C* const right_to = scratch.take<C>(n * step);
  const auto raw = [&](C* to, std::int64_t count) {
    if constexpr (is_half<T>)
      return reinterpret_cast<T*>(scratch.take<C>(count));
    else
      return to;
  };
  T* const left_raw = raw(left_to, m * step);
  T* const right_raw = raw(right_to, n * step);
  // Written in turn, so that the last sums are in `result`.
  C* const sums[] = {result, scratch.take<C>(m * n)};
  C one = 1;
  std::int64_t left_over = (end - begin + step - 1) / step;
  Affine before;  // what was summed already
  if (left_over == 0) std::fill_n(result, m * n, C{0});
  for (std::int64_t q = begin; q < end; q += step) {
    const std::int64_t q_end = HWY_MIN(q + step, end);
    const Matrix a = gathered<T>(left, q, q_end, left_raw, left_to);
    const Matrix b = right == nullptr ? Matrix{&one, 1, q_end - q, 0, 0}
                                      : gathered<T>(*right, q, q_end, right_raw, right_to);
    const Matrix to{sums[--left_over % 2], m, n, n, 1};
    gemm(type, a, b.transposed(), to, before);
    before = {Affine::kOne, Affine::kOne, to};
  }
}

// out[i, j, taps of the window] of group g's rows i and channels [first, first + channels).
struct Place {
  const View& out;
  std::int64_t row, column, channels;
  const std::vector<std::int64_t>& offsets;  // of the taps

  template <class T>
  void store(const Compute<T>* sums, T* rounded) const {
    const std::int64_t n = channels * static_cast<std::int64_t>(offsets.size());
    scatter(rounded, out.type(), 1, sums, n);
    char* const to = at(out, row * out.stride(0));
    for (const std::int64_t offset : offsets)
      for (std::int64_t c = 0; c < channels; ++c)
        std::memcpy(to + ((column + c) * (out.rank() > 1 ? out.stride(1) : 0) + offset) *
                             static_cast<std::int64_t>(sizeof(T)),
                    rounded++, sizeof(T));
  }
};

// out[g A + i, j, tap] = sum over all positions of from[n, g A + i, p] * image[n, g B + j, what tap sees from p]; or, without
// image, out[i] = sum of from[n, i, p].
template <class T>
void sum_positions(const View& from, const View* image, const Movement& movement, std::int64_t groups,
                   View& out) {
  using C = Compute<T>;
  const Movement here = points(from.sizes().subspan(2));
  const std::int64_t a = from.size(1) / groups, b = image == nullptr ? 1 : image->size(1) / groups;
  const std::int64_t window = image == nullptr ? 1 : taps(movement);
  const std::int64_t width = HWY_MIN(b, HWY_MAX(std::int64_t{1}, kGatheredRows / window));
  const std::int64_t blocks = (b + width - 1) / width, row = b * window;  // sums of one channel of `from`
  const Cut cut(from.size(0) * positions(here), width * window, groups * blocks);

  Scratch scratch(scratch_bytes<C>(cut.spans * groups * a * row));
  C* const sums = scratch.take<C>(cut.spans * groups * a * row);  // [span][group][block][a][tap][channel]
  const auto block_at = [&](std::int64_t span, std::int64_t group, std::int64_t block) {
    return sums + (span * groups + group) * a * row + a * window * block * width;
  };
  parallel_for(cut.spans * groups * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t block = task % blocks, group = task / blocks % groups, span = task / blocks / groups;
      const Moving left{from, group * a, a, here};
      std::optional<Moving> right;
      if (image != nullptr)
        right.emplace(Moving{*image, group * b + block * width, HWY_MIN(width, b - block * width), movement});
      multiply_positions<T>(left, right ? &*right : nullptr, cut.begin(span), cut.begin(span + 1), cut.step,
                            block_at(span, group, block));
    }
  });

  const std::vector<std::int64_t> offsets =
      image == nullptr ? std::vector<std::int64_t>{0} : tap_offsets(movement, out.all_strides().subspan(2));
  parallel_for(groups * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> rounded(static_cast<std::size_t>(width * window));
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t block = task % blocks, group = task / blocks;
      const std::int64_t channels = HWY_MIN(width, b - block * width), n = channels * window;
      C* const total = block_at(0, group, block);
      for (std::int64_t span = 1; span < cut.spans; ++span) {
        const C* const more = block_at(span, group, block);
        for (std::int64_t k = 0; k < a * n; ++k) total[k] += more[k];
      }
      for (std::int64_t i = 0; i < a; ++i)
        Place{out, group * a + i, block * width, channels, offsets}.store<T>(total + i * n, rounded.data());
    }
  });
}

void convolution_backward(const View& grad_output, const View& input, const View& weight,
                          std::optional<std::span<const std::int64_t>> /*bias_sizes*/,
                          std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                          std::span<const std::int64_t> dilation, bool transposed,
                          std::span<const std::int64_t> /*output_padding*/, std::int64_t groups,
                          std::span<const std::int64_t> output_mask, View& grad_input, View& grad_weight,
                          View& grad_bias) {
  const WindowAttributes attributes{stride, padding, dilation};
  if (output_mask[0] != 0)
    convolve(grad_output, weight, nullptr, attributes, !transposed, groups, grad_input);
  const View& from = transposed ? input : grad_output;
  const View& image = transposed ? grad_output : input;
  const Movement movement = movements(image.sizes().subspan(2), weight.sizes().subspan(2),
                                      from.sizes().subspan(2), attributes, false)
                                .front();
  ASSAY_CPU_WITH_ELEMENT(input.type(), T, {
    if (output_mask[1] != 0) sum_positions<T>(from, &image, movement, groups, grad_weight);
    if (output_mask[2] != 0) sum_positions<T>(grad_output, nullptr, movement, 1, grad_bias);
  });
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract =
    "chain=blocked(512) -- optimized/cpu/convolution_backward.cpp: the order of accumulation";
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::convolution_backward, convolution_backward, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
