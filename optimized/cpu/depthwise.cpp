// The idea: a channel of the image is copied into a plane with zeros around it, so that every tap of every window finds a
// number. All results are then one stream, through the ends of rows, too: a tap is a distance in the plane, and a vector
// of neighbouring results needs one multiply-add for each tap. With strides, the plane is cut into one for each remainder
// of the coordinates, in which windows move by one. What the stream computes beyond the ends of rows is left out.
//
// Taps are added in row-major order, zeros around the image included, the bias at the end: bit for bit what the product
// of matrices in convolution.cpp gives, which takes all other convolutions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/depthwise.cpp"
#include "levels.h"

#include <algorithm>
#include <vector>

#include "depthwise.h"
#include "gemm.h"
#include "lanes.h"
#include "parallel.h"
#include "runs.h"
#include "scratch.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGrain = 1 << 16;    // multiplications that are worth another thread
constexpr std::int64_t kLargest = 1 << 18;  // numbers of a channel with its zeros
constexpr std::int64_t kUnrolled = 4;       // vectors of results that go together

// One dimension of the plane, cut into `phases`: coordinate i of the image is number (i + before) / phases of phase
// (i + before) % phases.
struct Line {
  std::int64_t size, before, phases, results, length, each;  // each: the length of a phase

  Line(const WindowAxis& axis, std::int64_t image)
      : size(image),
        before(-axis.taps.front().offset),
        phases(axis.in_step),
        results(axis.count),
        length((results - 1) * phases + axis.taps.back().offset + before + 1),
        each((length + phases - 1) / phases) {}

  // Of the image, what any window looks at.
  std::int64_t used() const { return std::min(size, length - before); }
};

template <class T>
struct Depthwise {
  using C = Compute<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  static constexpr std::int64_t behind = kUnrolled * lanes;  // read and written after the end of a stream

  const View& input;
  View& out;
  Line rows, columns;
  std::int64_t of_phase, stream;         // elements
  std::vector<C> weights, bias;          // of all results, in their order
  std::vector<std::int64_t> tap_starts;  // in the planes

  Depthwise(const View& in, const View& weight, const View* added, const Movement& m, View& to)
      : input(in),
        out(to),
        rows(m[0], in.size(2)),
        columns(m[1], in.size(3)),
        of_phase(rows.each * columns.each + behind),
        stream((rows.results - 1) * columns.each + columns.results),
        weights(numbers<C>(weight)) {
    if (added != nullptr) bias = numbers<C>(*added);
    for (const WindowAxis::Tap& r : m[0].taps)
      for (const WindowAxis::Tap& s : m[1].taps) {
        const std::int64_t y = r.offset + rows.before, x = s.offset + columns.before;
        tap_starts.push_back((y % rows.phases * columns.phases + x % columns.phases) * of_phase +
                             y / rows.phases * columns.each + x / columns.phases);
      }
  }

  std::int64_t elements() const { return rows.phases * columns.phases * of_phase; }

  // A row of the image into the phases of its columns, which lie of_phase apart.
  HWY_INLINE void place_row(C* to, const T* from, std::int64_t step) const {
    const D d;
    const std::int64_t n = columns.used(), before = columns.before;
    if constexpr (std::is_same_v<T, C>) {
      if (step == 1 && columns.phases == 1) {
        std::int64_t i = 0;
        for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + before + i);
        // Zeros after it, where zeros are or the next row comes.
        if (i < n) hn::StoreU(load_n(d, from + i, n - i), d, to + before + i);
        return;
      }
      if (step == 1 && columns.phases == 2) {
        C* const even = to + before % 2 * of_phase + before / 2;
        C* const odd = to + (before + 1) % 2 * of_phase + (before + 1) / 2;
        std::int64_t i = 0;
        for (; 2 * (i + lanes) <= n; i += lanes) {
          V first, second;
          hn::LoadInterleaved2(d, from + 2 * i, first, second);
          hn::StoreU(first, d, even + i);
          hn::StoreU(second, d, odd + i);
        }
        for (; 2 * i < n; ++i) {
          even[i] = from[2 * i];
          if (2 * i + 1 < n) odd[i] = from[2 * i + 1];
        }
        return;
      }
    }
    for (std::int64_t first = 0; first < std::min(n, columns.phases); ++first) {
      const std::int64_t at = first + before;
      gather(to + at % columns.phases * of_phase + at / columns.phases, from + first * step, input.type(),
             step * columns.phases, input.type(), (n - first + columns.phases - 1) / columns.phases);
    }
  }

  HWY_NOINLINE void place(C* planes, const T* image) const {
    for (std::int64_t i = 0; i < rows.used(); ++i) {
      const std::int64_t y = i + rows.before;
      place_row(planes + y % rows.phases * columns.phases * of_phase + y / rows.phases * columns.each,
                image + i * input.stride(2), input.stride(3));
    }
  }

  HWY_NOINLINE void multiply(C* sums, const C* planes, const C* weight, C added) const {
    const D d;
    const std::int64_t taps = static_cast<std::int64_t>(tap_starts.size());
    const std::int64_t* const starts = tap_starts.data();
    for (std::int64_t i = 0; i < stream; i += kUnrolled * lanes) {
      V sum[kUnrolled];
#pragma GCC unroll 4
      for (V& s : sum) s = hn::Zero(d);
      for (std::int64_t t = 0; t < taps; ++t) {
        const V w = hn::Set(d, weight[t]);
        const C* const x = planes + starts[t] + i;
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < kUnrolled; ++v)
          sum[v] = hn::MulAdd(w, hn::LoadU(d, x + v * lanes), sum[v]);
      }
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < kUnrolled; ++v) {
        if (!bias.empty()) sum[v] = hn::Add(sum[v], hn::Set(d, added));
        hn::StoreU(sum[v], d, sums + i + v * lanes);
      }
    }
  }

  HWY_NOINLINE void store_rows(T* to, const C* sums) const {
    const D d;
    const std::int64_t n = columns.results, row_step = out.stride(2), count = rows.results * n;
    for (std::int64_t y = 0; y < rows.results; ++y) {
      const C* const from = sums + y * columns.each;
      if (n > 1 && out.stride(3) != 1) {
        scatter(to + y * row_step, out.type(), out.stride(3), from, n);
        continue;
      }
      // Where rows have no gaps between them the next one overwrites what is too much.
      const std::int64_t room = row_step == n ? count - y * n : n;
      for (std::int64_t i = 0; i < n; i += lanes) {
        const V value = hn::LoadU(d, from + i);
        if (i + lanes <= room)
          store(value, d, to + y * row_step + i);
        else
          store_n(value, d, to + y * row_step + i, HWY_MIN(n - i, lanes));
      }
    }
  }

  void run() const {
    const std::int64_t outputs = out.size(1), each = outputs / input.size(1);
    const auto taps = static_cast<std::int64_t>(tap_starts.size());
    const std::int64_t work = stream * taps + 1;
    parallel_for(out.size(0) * outputs, 1 + kGrain / work,
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   Scratch scratch(scratch_bytes<C>(elements()) + scratch_bytes<C>(stream + behind));
                   C* const planes = scratch.take<C>(elements());
                   C* const sums = scratch.take<C>(stream + behind);
                   std::fill_n(planes, elements(), C{0});
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t n = i / outputs, k = i % outputs;
                     if (i == begin || k % each == 0)
                       place(planes, input.as<const T>() + n * input.stride(0) + k / each * input.stride(1));
                     multiply(sums, planes, weights.data() + k * taps,
                              bias.empty() ? C{0} : bias[static_cast<std::size_t>(k)]);
                     store_rows(out.as<T>() + n * out.stride(0) + k * out.stride(1), sums);
                   }
                 });
  }
};

}  // namespace

bool depthwise(const View& input, const View& weight, const View* bias, const Movement& movement,
               std::int64_t groups, View& out) {
  if (movement.size() != 2 || input.size(1) != groups || !is_float(out.type())) return false;
  const std::int64_t count = taps(movement);
  if (count == 0 || count > kGemmBlock) return false;
  const Line rows(movement[0], input.size(2)), columns(movement[1], input.size(3));
  if (rows.phases * columns.phases * rows.each > kLargest / (columns.each + 64)) return false;
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, Depthwise<T>(input, weight, bias, movement, out).run());
  return true;
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
