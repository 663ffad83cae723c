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

constexpr std::int64_t kNothing =
    -1;  // the step of a result whose window held nothing above the least number

template <class V>
HWY_INLINE auto above(V x, V held) {
  if constexpr (std::is_integral_v<hn::TFromV<V>>)
    return hn::Gt(x, held);
  else
    return hn::Or(hn::Gt(x, held), hn::IsNaN(x));
}

struct MaxPool {
  static constexpr bool integers = true;
  const View& out;
  const View* indices;  // or nullptr

  template <class F>
  void begin(F* value, Step<F>* step, std::int64_t n) const {
    F least;
    if constexpr (std::is_integral_v<F>)
      least = static_cast<F>(integer_range(out.type()).least);
    else
      least = -std::numeric_limits<F>::infinity();
    for (std::int64_t i = 0; i < n; ++i) value[i] = least;
    for (std::int64_t i = 0; i < n; ++i) step[i] = static_cast<Step<F>>(kNothing);
  }

  template <class F>
  HWY_INLINE void combine(F* value, Step<F>* step, const F* from, std::int64_t n, Step<F> at) const {
    const hn::ScalableTag<F> d;
    const hn::RebindToSigned<decltype(d)> di;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto here = hn::Set(di, at);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const auto x = hn::LoadU(d, from + i), held = hn::LoadU(d, value + i);
      const auto wins = above(x, held);
      hn::StoreU(hn::IfThenElse(wins, x, held), d, value + i);
      if (indices != nullptr)
        hn::StoreU(hn::IfThenElse(hn::RebindMask(di, wins), here, hn::LoadU(di, step + i)), di, step + i);
    }
    if (i == n) return;
    const auto x = load_n(d, from + i, n - i), held = load_n(d, value + i, n - i);
    const auto wins = above(x, held);
    store_n(hn::IfThenElse(wins, x, held), d, value + i, n - i);
    if (indices != nullptr)
      store_lanes(hn::IfThenElse(hn::RebindMask(di, wins), here, load_lanes(di, step + i, n - i)), di,
                  step + i, n - i);
  }

  template <class F>
  void finish(const PoolShape& shape, const PoolRow& r, const F* value, const Step<F>* step) const {
    const int lane = shape.along_channels ? 1 : 3;
    scatter(static_cast<char*>(out.data) + r.offset(shape.out) * (out.dtype.bits / 8), out.type(),
            shape.out.stride[lane], value, r.length);
    if (indices == nullptr) return;
    const PoolAxis &rows = shape.rows, &columns = shape.columns;
    const PoolDims dims(*indices);
    std::int64_t* const to = indices->as<std::int64_t>() + r.offset(dims);
    for (std::int64_t i = 0; i < r.length; ++i) {
      const std::int64_t column = r.column + (shape.along_channels ? 0 : i);
      std::int64_t place = rows.start(r.row) * columns.size + columns.start(column);
      place += step[i] != kNothing ? step[i]
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
  pool(MaxPool{out, &indices}, self, out, {kernel_size, stride, padding, dilation});
}

void max_pool2d(const View& self, std::span<const std::int64_t> kernel_size,
                std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                std::span<const std::int64_t> dilation, bool /*ceil_mode*/, View& out) {
  pool(MaxPool{out, nullptr}, self, out, {kernel_size, stride, padding, dilation});
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
