// The driver of pooling: every window of every plane goes through an operator that keeps something of what it saw.
// Compiled for each level.
//
//   struct Op {
//     void begin(F* value, Step<F>* step, n) const;                        // before the first element
//     void combine(F* value, Step<F>* step, const F* from, n, Step<F> at) const;   // one element for each result
//     void finish(const PoolShape&, const PoolRow<F>&, F* value, const Step<F>* step) const;   // stores them
//   };
// F is float or double, or std::int64_t, for every integer dtype, of an Op that says
//     static constexpr bool integers = true;
//   pool(op, self, out, {kernel_size, stride, padding, dilation});
//
// The idea: results that are neighbours, along a row of the plane or, where those lie side by side in memory or the rows
// are as short as those of a global pool, along the channels, go through their windows together, one tap after the other in row-major order: a lane is a result. What one
// tap of theirs looks at is a row of the input with a step, which is read where it lies or gathered first, so that any
// layout and dtype is one code. Taps that are neighbours in memory, as their results are not, are transposed together. Taps outside of the plane are left out, not padded. `step` is how far the tap lies behind
// the window's first one in the plane, in elements.
#include <span>

#include "gather.h"
#include "lanes.h"
#include "parallel.h"
#include "transpose.h"
#include "vocabulary/view.h"

#if defined(ASSAY_CPU_POOL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_CPU_POOL_H
#undef ASSAY_CPU_POOL_H
#else
#define ASSAY_CPU_POOL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kPoolBlock = 512;  // results that go through their windows together
inline constexpr std::int64_t kPoolTaps = 8;     // taps that are transposed together, for
inline constexpr std::int64_t kPoolLanes =
    64;  // so many results: their windows stay in the first-level cache
inline constexpr std::int64_t kPoolShortRow = 4;  // results in a row, below which channels make longer ones
inline constexpr std::int64_t kPoolGrain = 1 << 14;  // elements that are worth another thread

template <class F>
using Step = std::conditional_t<sizeof(F) == 8, std::int64_t, std::int32_t>;

// Two numbers, or one for both dimensions; a stride of none is kernel_size, a dilation of none is 1.
struct Pooling {
  std::span<const std::int64_t> kernel_size, stride, padding, dilation;
};

// One dimension of a plane and the windows over it.
struct PoolAxis {
  std::int64_t size, taps, stride, padding, dilation;

  PoolAxis(const View& self, const Pooling& p, int d)
      : size(self.size(self.rank() - 2 + d)),
        taps(of(p.kernel_size, d)),
        stride(p.stride.empty() ? taps : of(p.stride, d)),
        padding(of(p.padding, d)),
        dilation(p.dilation.empty() ? 1 : of(p.dilation, d)) {}

  std::int64_t start(std::int64_t at) const { return at * stride - padding; }
  // The first tap that does not lie before the plane, and the one behind the last that does not lie behind it.
  std::int64_t first(std::int64_t at) const {
    return start(at) >= 0 ? 0 : (dilation - 1 - start(at)) / dilation;
  }
  std::int64_t last(std::int64_t at) const {
    const std::int64_t left = size - start(at);
    return left <= 0 ? 0 : HWY_MIN(taps, (left - 1) / dilation + 1);
  }

 private:
  static std::int64_t of(std::span<const std::int64_t> list, int d) {
    return list.size() == 1 ? list[0] : list[static_cast<std::size_t>(d)];
  }
};

// Batch, channels, rows and columns of a tensor; one without a batch has one.
struct PoolDims {
  std::int64_t size[4], stride[4];

  explicit PoolDims(const View& v) {
    for (int d = 0; d < 4; ++d) {
      const int from = v.rank() - 4 + d;
      size[d] = from < 0 ? 1 : v.size(from);
      stride[d] = from < 0 ? 0 : v.stride(from);
    }
  }
};

struct PoolShape {
  PoolAxis rows, columns;
  PoolDims in, out;
  bool along_channels;

  // Results that go together.
  std::int64_t block() const { return along_channels && in.stride[1] != 1 ? kPoolLanes : kPoolBlock; }
};

// `length` results; the first of them, and where they lie.
struct PoolRow {
  std::int64_t batch, channel, row, column, length;

  std::int64_t offset(const PoolDims& dims) const {
    return batch * dims.stride[0] + channel * dims.stride[1] + row * dims.stride[2] + column * dims.stride[3];
  }
};

template <class F, class Op>
HWY_NOINLINE void pool_row(const Op& op, const View& self, const PoolShape& shape, const PoolRow& r) {
  HWY_ALIGN F value[kPoolBlock], gathered[kPoolBlock];
  HWY_ALIGN Step<F> step[kPoolBlock];
  const PoolAxis &rows = shape.rows, &columns = shape.columns;
  const Dtype type = self.type();
  const bool plain = bytes(type) == static_cast<int>(sizeof(F));  // a narrower type is computed in F
  const std::int64_t between =
      shape.along_channels ? shape.in.stride[1] : shape.in.stride[3] * columns.stride;
  const bool transposes = plain && shape.along_channels && between != 1 && shape.in.stride[3] == 1 &&
                          columns.dilation == 1 && r.length <= kPoolLanes;
  op.begin(value, step, r.length);
  for (std::int64_t i = rows.first(r.row); i < rows.last(r.row); ++i) {
    const std::int64_t row = r.batch * shape.in.stride[0] + r.channel * shape.in.stride[1] +
                             (rows.start(r.row) + i * rows.dilation) * shape.in.stride[2];
    if (transposes) {
      const std::int64_t last = columns.last(r.column);
      for (std::int64_t j = columns.first(r.column); j < last; j += kPoolTaps) {
        const std::int64_t n = HWY_MIN(kPoolTaps, last - j);
        transpose_rows(gathered, kPoolLanes, self.as<const F>() + row + columns.start(r.column) + j, between,
                       r.length, n);
        for (std::int64_t t = 0; t < n; ++t)
          op.combine(value, step, gathered + t * kPoolLanes, r.length,
                     static_cast<Step<F>>(i * rows.dilation * columns.size + j + t));
      }
      continue;
    }
    for (std::int64_t j = 0; j < columns.taps; ++j) {
      const std::int64_t at =
          columns.start(r.column) + j * columns.dilation;  // the column of the first result's tap
      std::int64_t first = 0, last = r.length;             // results whose tap lies in the plane
      if (shape.along_channels) {
        if (at < 0 || at >= columns.size) continue;
      } else {
        if (at < 0) first = (columns.stride - 1 - at) / columns.stride;
        if (at >= columns.size) continue;
        last = HWY_MIN(last, (columns.size - 1 - at) / columns.stride + 1);
        if (first >= last) continue;
      }
      const std::int64_t from = row + at * shape.in.stride[3] + first * between;
      const F* source = self.as<const F>() + from;
      if (!plain || between != 1) {
        gather(gathered, self.as<const char>() + from * (self.dtype.bits / 8), type, between, type,
               last - first);
        source = gathered;
      }
      op.combine(value + first, step + first, source, last - first,
                 static_cast<Step<F>>(i * rows.dilation * columns.size + j * columns.dilation));
    }
  }
  op.finish(shape, r, value, step);
}

template <class F, class Op>
void pool_rows(const Op& op, const View& self, const PoolShape& shape) {
  // Blocks of a row are all numbered alike: (batch, channel, row, column), of which one counts blocks.
  const std::int64_t* const size = shape.out.size;
  const int lane = shape.along_channels ? 1 : 3;
  std::int64_t counts[4] = {size[0], size[1], size[2], size[3]};
  const std::int64_t block = shape.block();
  counts[lane] = (size[lane] + block - 1) / block;
  const std::int64_t work = HWY_MIN(size[lane], block) * shape.rows.taps * shape.columns.taps;
  parallel_for(
      counts[0] * counts[1] * counts[2] * counts[3], 1 + kPoolGrain / work,
      [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
        for (std::int64_t n = begin; n < end; ++n) {
          std::int64_t at[4], left = n;
          for (int d = 3; d >= 0; --d) {
            at[d] = left % counts[d];
            left /= counts[d];
          }
          at[lane] *= block;
          pool_row<F>(op, self, shape, {at[0], at[1], at[2], at[3], HWY_MIN(block, size[lane] - at[lane])});
        }
      });
}

// The shape of `out` is that of the result.
inline PoolShape pool_shape(const View& self, const View& out, const Pooling& pooling) {
  PoolShape shape{PoolAxis(self, pooling, 0), PoolAxis(self, pooling, 1), PoolDims(self), PoolDims(out),
                  false};
  const bool beside = shape.in.stride[1] == 1 && shape.in.stride[3] != 1 && shape.in.size[1] > 1;
  const bool short_rows = shape.out.size[3] < kPoolShortRow && shape.out.size[1] > 2 * shape.out.size[3];
  shape.along_channels = beside || short_rows;
  return shape;
}

template <class Op>
void pool(const Op& op, const View& self, const View& out, const Pooling& pooling) {
  if (out.numel() == 0) return;
  const PoolShape shape = pool_shape(self, out, pooling);
  if (self.type() == Dtype::f64) return pool_rows<double>(op, self, shape);
  if constexpr (requires { Op::integers; })
    if (!is_float(self.type())) return pool_rows<std::int64_t>(op, self, shape);
  constexpr std::int64_t kGreatest = std::int64_t{1} << 31;
  if (shape.rows.taps * shape.rows.dilation * shape.columns.size +
          shape.columns.taps * shape.columns.dilation >=
      kGreatest)
    throw Refused("windows that reach over more than 2^31 elements of a plane are not supported");
  pool_rows<float>(op, self, shape);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
