// The driver of pooling: every window of every plane goes through an operator that keeps something of what it saw.
// Compiled for each level.
//
//   struct Op {
//     F least<F>() const;                                            // what a result holds before the first element
//     void combine(V& value, VI& step, V x, Step<F> at) const;       // one element for each lane
//     void finish(const PoolShape&, const PoolRow&, F* value, const Step<F>* step) const;   // stores them
//   };
// F is float or double, or std::int64_t, for every integer dtype, of an Op that says
//     static constexpr bool integers = true;
//   pool(op, self, out, {kernel_size, stride, padding, dilation});
//
// The idea: results that are neighbours, along a row of the plane or, where those lie side by side in memory or the rows
// are as short as those of a global pool, along the channels, go through their windows together, one tap after the other in
// row-major order: a lane is a result. What one tap of theirs looks at is a row of the input with a step, which is read
// where it lies or gathered first, so that any layout and dtype is one code. Where it lies with steps of one or two
// elements, results that have the same columns of their windows in the plane stay in registers for all their taps. Taps
// that are neighbours in memory, as their results are not, are transposed together. Taps outside of the plane are left out,
// not padded. `step` is how far the tap lies after the window's first one in the plane, in elements; -1 if none was taken.
#include <span>

#include "gather.h"
#include "lanes.h"
#include "parallel.h"
#include "transpose.h"
#include "vocabulary/view.h"

#if defined(ASSAY_CPU_POOL_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_POOL_H
#undef ASSAY_CPU_POOL_H
#else
#define ASSAY_CPU_POOL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kPoolBlock = 512;  // results that go through their windows together
inline constexpr std::int64_t kPoolTile = 8;     // taps that are transposed together, for
inline constexpr std::int64_t kPoolLanes =
    64;  // so many results: their windows stay in the first-level cache
inline constexpr std::int64_t kPoolShortRow = 4;  // results in a row, below which channels make longer ones
inline constexpr std::int64_t kPoolGrain = 1 << 14;  // elements that are worth another thread

template <class F>
using Step = std::conditional_t<sizeof(F) == 8, std::int64_t, std::int32_t>;
inline constexpr int kNoStep = -1;  // that of a result that took no element

// Of memory as it is computed with; a narrower dtype is converted first.
template <class F>
bool is_plain(Dtype type) {
  return bytes(type) == static_cast<int>(sizeof(F));
}

// Two numbers, or one for both dimensions; a stride of none is kernel_size, a dilation of none is 1.
struct Pooling {
  std::span<const std::int64_t> kernel_size, stride, padding, dilation;
};

// One dimension of a plane and the windows over it.
struct PoolAxis {
  std::int64_t size, taps, stride, padding, dilation;
  std::int64_t first_inside,
      end_inside;  // the results whose windows lie within the plane, if the second is above the first

  PoolAxis(const View& self, const Pooling& p, int d)
      : size(self.size(self.rank() - 2 + d)),
        taps(of(p.kernel_size, d)),
        stride(p.stride.empty() ? taps : of(p.stride, d)),
        padding(of(p.padding, d)),
        dilation(p.dilation.empty() ? 1 : of(p.dilation, d)),
        first_inside((padding + stride - 1) / stride) {
    const std::int64_t most = size - 1 - (taps - 1) * dilation + padding;
    end_inside = most < 0 ? 0 : most / stride + 1;
  }

  std::int64_t start(std::int64_t at) const { return at * stride - padding; }
  // The first tap that does not lie before the plane, and the one after the last that does not lie after it.
  std::int64_t first(std::int64_t at) const {
    return start(at) >= 0 ? 0 : (dilation - 1 - start(at)) / dilation;
  }
  std::int64_t last(std::int64_t at) const {
    if (start(at) + (taps - 1) * dilation < size) return taps;  // spares most a division
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

// `length` results; the first of them, and where they lie.
struct PoolRow {
  std::int64_t batch, channel, row, column, length;

  std::int64_t offset(const PoolDims& dims) const {
    return batch * dims.stride[0] + channel * dims.stride[1] + row * dims.stride[2] + column * dims.stride[3];
  }
};

// Results [begin, end) of a row.
struct PoolPart {
  std::int64_t begin, end;
};

struct PoolShape {
  PoolAxis rows, columns;
  PoolDims in, out;
  bool along_channels;

  // How far the elements are apart that one tap of neighbouring results looks at.
  std::int64_t between() const { return along_channels ? in.stride[1] : in.stride[3] * columns.stride; }
  // Those of which each has all columns of its window within the plane, or, along channels, the same ones.
  PoolPart alike(const PoolRow& r) const {
    if (along_channels) return {0, r.length};
    const std::int64_t begin = HWY_MIN(r.length, HWY_MAX(0, columns.first_inside - r.column));
    return {begin, HWY_MIN(r.length, HWY_MAX(begin, columns.end_inside - r.column))};
  }
  // Results that go together.
  std::int64_t block() const { return along_channels && in.stride[1] != 1 ? kPoolLanes : kPoolBlock; }
};

// The combinations of one tap, for n results.
template <class F, class Op>
HWY_INLINE void combine_all(const Op& op, F* value, Step<F>* step, const F* from, std::int64_t n,
                            Step<F> at) {
  const hn::ScalableTag<F> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto held = hn::LoadU(d, value + i);
    auto place = hn::LoadU(di, step + i);
    op.combine(held, place, hn::LoadU(d, from + i), at);
    hn::StoreU(held, d, value + i);
    hn::StoreU(place, di, step + i);
  }
  if (i == n) return;
  auto held = load_n(d, value + i, n - i);
  auto place = load_lanes(di, step + i, n - i);
  op.combine(held, place, load_n(d, from + i, n - i), at);
  store_n(held, d, value + i, n - i);
  store_lanes(place, di, step + i, n - i);
}

// from[0], from[kStride], ... for each lane, and nothing after the last of them.
template <int kStride, class D>
HWY_INLINE hn::Vec<D> load_stepped(D d, const hn::TFromD<D>* from) {
  if constexpr (kStride == 1) {
    return hn::LoadU(d, from);
  } else {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto first = hn::LoadU(d, from), second = hn::LoadU(d, from + lanes - 1);
    return hn::ConcatUpperLower(d, hn::ConcatOdd(d, second, second), hn::ConcatEven(d, first, first));
  }
}

// What one result looks at: where its tap (0, 0) lies, taps in the plane, and how far these are apart.
struct PoolTaps {
  std::int64_t window;
  std::int64_t first_row, last_row, row_step;
  std::int64_t first_column, last_column, column_step;

  PoolTaps(const PoolShape& shape, const PoolRow& r, std::int64_t column)
      : window(r.batch * shape.in.stride[0] + r.channel * shape.in.stride[1] +
               shape.rows.start(r.row) * shape.in.stride[2] +
               shape.columns.start(column) * shape.in.stride[3]),
        first_row(shape.rows.first(r.row)),
        last_row(shape.rows.last(r.row)),
        row_step(shape.rows.dilation * shape.in.stride[2]),
        first_column(shape.columns.first(column)),
        last_column(shape.columns.last(column)),
        column_step(shape.columns.dilation * shape.in.stride[3]) {}
};

// `kVectors` vectors of results, which do not wait for each other. Lane i reads kStride * i elements after the first.
template <int kStride, int kVectors, class D, class Op>
HWY_INLINE void pool_vectors(D d, const Op& op, const hn::TFromD<D>* window, const PoolTaps& taps,
                             std::int64_t row_places, std::int64_t column_places, hn::TFromD<D>* value,
                             Step<hn::TFromD<D>>* step) {
  using F = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> held[kVectors];
  hn::Vec<decltype(di)> place[kVectors];
  for (auto& v : held) v = hn::Set(d, op.template least<F>());
  for (auto& v : place) v = hn::Set(di, Step<F>{kNoStep});
  for (std::int64_t k = taps.first_row; k < taps.last_row; ++k)
    for (std::int64_t j = taps.first_column; j < taps.last_column; ++j) {
      const F* const from = window + k * taps.row_step + j * taps.column_step;
      const auto at = static_cast<Step<F>>(k * row_places + j * column_places);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        op.combine(held[v], place[v], load_stepped<kStride>(d, from + kStride * v * lanes), at);
    }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(held[v], d, value + v * lanes);
    hn::StoreU(place[v], di, step + v * lanes);
  }
}

// n results, at least a vector, all of which have these taps. The last vectors overlap those before them.
template <int kStride, class D, class Op>
HWY_NOINLINE void pool_alike(D d, const Op& given, const hn::TFromD<D>* from, const PoolShape& shape,
                             const PoolTaps& given_taps, std::int64_t n, hn::TFromD<D>* value,
                             Step<hn::TFromD<D>>* step) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Copies, which no store changes.
  const Op op = given;
  const PoolTaps taps = given_taps;
  const std::int64_t row_places = shape.rows.dilation * shape.columns.size,
                     column_places = shape.columns.dilation;
  // The next `count` vectors, or the last ones; whether there are so many.
  const auto vectors = [&]<int count>(std::integral_constant<int, count>, std::int64_t& i) HWY_ATTR {
    if (n < count * lanes) return false;
    const std::int64_t at = HWY_MIN(i, n - count * lanes);
    pool_vectors<kStride, count>(d, op, from + taps.window + kStride * at, taps, row_places, column_places,
                                 value + at, step + at);
    i = at + count * lanes;
    return true;
  };
  for (std::int64_t i = 0; i < n;) {
    if (n - i > 2 * lanes && vectors(std::integral_constant<int, 4>(), i)) continue;
    if (n - i > lanes && vectors(std::integral_constant<int, 2>(), i)) continue;
    vectors(std::integral_constant<int, 1>(), i);
  }
}

// Results of a row, at least a vector of which are alike, whose taps are read where they lie.
template <class F, class Op>
HWY_NOINLINE void pool_in_place(const Op& op, const View& self, const PoolShape& shape, const PoolRow& r,
                                F* value, Step<F>* step) {
  const auto [begin, end] = shape.alike(r);
  const hn::ScalableTag<F> d;
  const F* const from = self.as<const F>();
  const PoolTaps taps(shape, r, r.column + begin);
  if (shape.between() == 1)
    pool_alike<1>(d, op, from, shape, taps, end - begin, value + begin, step + begin);
  else
    pool_alike<2>(d, op, from, shape, taps, end - begin, value + begin, step + begin);
  const auto alone = [&](std::int64_t i) HWY_ATTR {
    pool_alike<1>(hn::CappedTag<F, 1>(), op, from, shape, PoolTaps(shape, r, r.column + i), 1, value + i,
                  step + i);
  };
  for (std::int64_t i = 0; i < begin; ++i) alone(i);
  for (std::int64_t i = end; i < r.length; ++i) alone(i);
}

// Results of a row, one tap after the other for all of them.
template <class F, class Op>
HWY_NOINLINE void pool_taps(const Op& op, const View& self, const PoolShape& shape, const PoolRow& r,
                            F* value, Step<F>* step) {
  HWY_ALIGN F gathered[kPoolBlock];
  const PoolAxis &rows = shape.rows, &columns = shape.columns;
  const Dtype type = self.type();
  const std::int64_t between = shape.between();
  const bool plain = is_plain<F>(type);
  const bool transposes = plain && shape.along_channels && between != 1 && shape.in.stride[3] == 1 &&
                          columns.dilation == 1 && r.length <= kPoolLanes;
  for (std::int64_t i = 0; i < r.length; ++i) value[i] = op.template least<F>();
  for (std::int64_t i = 0; i < r.length; ++i) step[i] = Step<F>{kNoStep};
  for (std::int64_t i = rows.first(r.row); i < rows.last(r.row); ++i) {
    const std::int64_t row = r.batch * shape.in.stride[0] + r.channel * shape.in.stride[1] +
                             (rows.start(r.row) + i * rows.dilation) * shape.in.stride[2];
    if (transposes) {
      const std::int64_t last = columns.last(r.column);
      for (std::int64_t j = columns.first(r.column); j < last; j += kPoolTile) {
        const std::int64_t n = HWY_MIN(kPoolTile, last - j);
        transpose_rows(gathered, kPoolLanes, self.as<const F>() + row + columns.start(r.column) + j, between,
                       r.length, n);
        for (std::int64_t t = 0; t < n; ++t)
          combine_all(op, value, step, gathered + t * kPoolLanes, r.length,
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
      combine_all(op, value + first, step + first, source, last - first,
                  static_cast<Step<F>>(i * rows.dilation * columns.size + j * columns.dilation));
    }
  }
}

template <class F, class Op>
HWY_NOINLINE void pool_row(const Op& op, const View& self, const PoolShape& shape, const PoolRow& r) {
  HWY_ALIGN F value[kPoolBlock];
  HWY_ALIGN Step<F> step[kPoolBlock];
  const PoolPart alike = shape.alike(r);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<F>()));
  const bool near = shape.between() == 1 || shape.between() == 2;
  if (is_plain<F>(self.type()) && near && alike.end - alike.begin >= lanes)
    pool_in_place(op, self, shape, r, value, step);
  else
    pool_taps(op, self, shape, r, value, step);
  op.finish(shape, r, value, step);
}

template <class F, class Op>
void pool_rows(const Op& op, const View& self, const PoolShape& shape) {
  // Blocks of a row are all numbered alike: (batch, channel, row, column), of which one counts blocks.
  const std::int64_t* const size = shape.out.size;
  const bool along = shape.along_channels;
  const int lane = along ? 1 : 3;
  std::int64_t counts[4] = {size[0], size[1], size[2], size[3]};
  const std::int64_t block = shape.block();
  counts[lane] = (size[lane] + block - 1) / block;
  const std::int64_t work = HWY_MIN(size[lane], block) * shape.rows.taps * shape.columns.taps;
  parallel_for(counts[0] * counts[1] * counts[2] * counts[3], 1 + kPoolGrain / work,
               [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                 std::int64_t at[4], left = begin;
                 for (int d = 3; d >= 0; --d) {
                   at[d] = left % counts[d];
                   left /= counts[d];
                 }
                 for (std::int64_t n = begin; n < end; ++n) {
                   PoolRow r{at[0], at[1], at[2], at[3], 0};
                   std::int64_t& first = along ? r.channel : r.column;
                   first *= block;
                   r.length = HWY_MIN(block, size[lane] - first);
                   pool_row<F>(op, self, shape, r);
                   for (int d = 3; d >= 0 && ++at[d] == counts[d]; --d) at[d] = 0;
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

inline bool is_computed_in_f32(Dtype type) { return is_float(type) && type != Dtype::f64; }

// Of a dtype that is computed in f32.
template <class Op>
void pool_in_f32(const Op& op, const View& self, const View& out, const Pooling& pooling) {
  if (out.numel() == 0) return;
  const PoolShape shape = pool_shape(self, out, pooling);
  constexpr std::int64_t kGreatest = std::int64_t{1} << 31;
  if (shape.rows.taps * shape.rows.dilation * shape.columns.size +
          shape.columns.taps * shape.columns.dilation >=
      kGreatest)
    throw Refused("windows that reach over more than 2^31 elements of a plane are not supported");
  pool_rows<float>(op, self, shape);
}

template <class Op>
void pool(const Op& op, const View& self, const View& out, const Pooling& pooling) {
  if (is_computed_in_f32(self.type())) return pool_in_f32(op, self, out, pooling);
  if (out.numel() == 0) return;
  const PoolShape shape = pool_shape(self, out, pooling);
  if constexpr (requires { Op::integers; })
    if (!is_float(self.type())) return pool_rows<std::int64_t>(op, self, shape);
  pool_rows<double>(op, self, shape);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
