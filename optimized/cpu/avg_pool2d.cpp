// The mean of each window, by pool.h: terms are added one after the other in row-major order, and the sum divided.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/avg_pool2d.cpp"
#include "levels.h"

#include <optional>

#include "../geometry/wrap.h"
#include "ops/avg_pool2d.h"
#include "pool.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct AvgPool {
  static constexpr bool integers = true;
  const View& out;
  bool count_include_pad;
  std::optional<std::int64_t> divisor_override;

  template <class F>
  F least() const {
    return 0;
  }

  template <class V, class VI, class Place>
  HWY_INLINE void combine(V& value, VI& /*step*/, V x, Place /*at*/) const {
    value = hn::Add(value, x);
  }

  template <class F>
  void finish(const PoolShape& shape, const PoolRow& r, F* value, const Step<F>* /*step*/) const {
    const int lane = shape.along_channels ? 1 : 3;
    const std::int64_t rows = counted(shape.rows, r.row);
    const auto divide = [&](std::int64_t begin, std::int64_t end) {
      if (begin == end) return;
      const std::int64_t n = rows * counted(shape.columns, r.column + (shape.along_channels ? 0 : begin));
      const auto divisor = static_cast<F>(divisor_override ? *divisor_override : n);
      for (std::int64_t i = begin; i < end; ++i)
        if constexpr (std::is_integral_v<F>)
          value[i] = wrapping_divide(value[i], divisor);
        else
          value[i] /= divisor;
    };
    const auto [begin, end] = shape.alike(r);
    for (std::int64_t i = 0; i < begin; ++i) divide(i, i + 1);
    divide(begin, end);
    for (std::int64_t i = end; i < r.length; ++i) divide(i, i + 1);
    scatter(static_cast<char*>(out.data) + r.offset(shape.out) * (out.dtype.bits / 8), out.type(),
            shape.out.stride[lane], value, r.length);
  }

  // Taps that count: those in the plane, or in its padding, too.
  std::int64_t counted(const PoolAxis& axis, std::int64_t at) const {
    if (!count_include_pad) return axis.last(at) - axis.first(at);
    return HWY_MIN(axis.taps, axis.size + axis.padding - axis.start(at));
  }
};

void avg_pool2d(const View& self, std::span<const std::int64_t> kernel_size,
                std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                bool /*ceil_mode*/, bool count_include_pad, std::optional<std::int64_t> divisor_override,
                View& out) {
  pool(AvgPool{out, count_include_pad, divisor_override}, self, out, {kernel_size, stride, padding, {}});
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::avg_pool2d, avg_pool2d, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
