// The largest number of each window, by pool.h: a comparison decides for both results, value and place. A NaN wins, and
// nothing is larger than what a lane holds then. Integers are compared as i64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/max_pool2d.cpp"
#include "levels.h"

#include <limits>

#include "ops/max_pool2d.h"
#include "pool.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

template <class V>
HWY_INLINE auto above(V x, V held) {
  if constexpr (std::is_integral_v<hn::TFromV<V>>)
    return hn::Gt(x, held);
  else
    return hn::Or(hn::Gt(x, held), hn::IsNaN(x));
}

// kPlaces: places are kept, which are stored where there are `indices`.
template <bool kPlaces>
struct MaxPool {
  static constexpr bool integers = true;
  const View& out;
  const View* indices;

  template <class F>
  F least() const {
    if constexpr (std::is_integral_v<F>)
      return static_cast<F>(integer_range(out.type()).least);
    else
      return -std::numeric_limits<F>::infinity();
  }

  template <class V, class VI, class Place>
  HWY_INLINE void combine(V& value, VI& step, V x, Place at) const {
    const auto wins = above(x, value);
    value = hn::IfThenElse(wins, x, value);
    if constexpr (kPlaces) {
      const hn::DFromV<VI> di;
      step = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, at), step);
    }
  }

  template <class F>
  void finish(const PoolShape& shape, const PoolRow& r, const F* value, const Step<F>* step) const {
    const int lane = shape.along_channels ? 1 : 3;
    scatter(static_cast<char*>(out.data) + r.offset(shape.out) * (out.dtype.bits / 8), out.type(),
            shape.out.stride[lane], value, r.length);
    if (!kPlaces || indices == nullptr) return;
    const PoolAxis &rows = shape.rows, &columns = shape.columns;
    const PoolDims dims(*indices);
    std::int64_t* const to = indices->as<std::int64_t>() + r.offset(dims);
    for (std::int64_t i = 0; i < r.length; ++i) {
      const std::int64_t column = r.column + (shape.along_channels ? 0 : i);
      std::int64_t place = rows.start(r.row) * columns.size + columns.start(column);
      place += step[i] != kNoStep ? step[i]
                                  : rows.first(r.row) * rows.dilation * columns.size +
                                        columns.first(column) * columns.dilation;
      to[i * dims.stride[lane]] = place;
    }
  }
};

void max_pool2d_with_indices(const View& self, std::span<const std::int64_t> kernel_size,
                             std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                             std::span<const std::int64_t> dilation, bool /*ceil_mode*/, View& out,
                             View& indices) {
  pool(MaxPool<true>{out, &indices}, self, out, {kernel_size, stride, padding, dilation});
}

void max_pool2d(const View& self, std::span<const std::int64_t> kernel_size,
                std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                std::span<const std::int64_t> dilation, bool /*ceil_mode*/, View& out) {
  // In the dtypes that networks have, without places, which take time; in the others not, as their code takes the compiler's.
  const Pooling pooling{kernel_size, stride, padding, dilation};
  if (is_computed_in_f32(self.type()))
    pool_in_f32(MaxPool<false>{out, nullptr}, self, out, pooling);
  else
    pool(MaxPool<true>{out, nullptr}, self, out, pooling);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::max_pool2d_with_indices, max_pool2d_with_indices, nullptr),
    ASSAY_CPU_LEVELS(ops::max_pool2d, max_pool2d, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
