// The mean of each window, by pool.h: a sum, divided once.
#include "ops/avg_pool2d.h"

#include <optional>

#include "pool.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct AvgPool {
  template <class C>
  struct State {
    C sum;
  };
  bool count_include_pad;
  std::int64_t divisor_override;  // or 0

  template <class C>
  __device__ State<C> begin(std::int64_t) const {
    return {C(0)};
  }
  template <class C>
  __device__ void take(State<C>& held, C x, std::int64_t) const {
    if constexpr (is_integer<C>)
      held.sum = wrapping_add(held.sum, x);
    else
      held.sum += x;
  }
  template <class C>
  __device__ void join(State<C>& held, const State<C>& other) const {
    take(held, other.sum, 0);
  }
  template <class C>
  __device__ State<C> shuffled(const State<C>& held, int with) const {
    return {__shfl_xor_sync(~0u, held.sum, with)};
  }
  template <class C>
  __device__ C result(const State<C>& held, const PoolShape& shape, const Pixel& p) const {
    const std::int64_t n = divisor_override != 0
                               ? divisor_override
                               : counted(shape.rows, p.row) * counted(shape.columns, p.column);
    if constexpr (is_integer<C>) {
      if (n == -1)
        return static_cast<C>(0 - static_cast<std::uint64_t>(held.sum));  // of the least number, too
      return held.sum / n;
    } else {
      return held.sum / static_cast<C>(n);
    }
  }
  template <class C, int n>
  __device__ void also(const State<C> (&)[n], const Pixel&) const {}

  // Elements that count: those in the plane, or in its padding, too.
  __device__ std::int64_t counted(const PoolAxis& axis, std::int64_t at) const {
    if (!count_include_pad) return PoolRange(axis, at).count;
    const std::int64_t left = axis.size + axis.padding - axis.start(at);
    return axis.taps < left ? axis.taps : left;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void avg_pool2d(const View& self, std::span<const std::int64_t> kernel_size,
                std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                bool /*ceil_mode*/, bool count_include_pad, std::optional<std::int64_t> divisor_override,
                View& out) {
  if (out.numel() == 0) return;
  const PoolShape shape(self, out, {kernel_size, stride, padding, {}});
  const AvgPool op{count_include_pad, divisor_override.value_or(0)};
  const auto go = [&](auto element) { pool_as<decltype(element)>(op, self, out, shape); };
  if (out.type() == Dtype::i64)
    go(std::int64_t{});
  else
    with_floating_point(out.type(), go);
}

constexpr assay_kernel avg_pool2d_kernels[] = {ASSAY_CUDA(ops::avg_pool2d, avg_pool2d, nullptr)};
const Enrolled avg_pool2d_enrolled{avg_pool2d_kernels};

}  // namespace
}  // namespace assay::cuda
