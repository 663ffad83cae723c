// The gradient of max_pool2d. Each plane is made in a buffer of the compute type, or where it lies if that is the same:
// numbers go where their indices say, in the order of the planes of grad_output, and each sum is rounded once when its row
// is stored. That order does not depend
// on layouts or threads. Where two numbers go to one place the second one waits for the first, so that only conversions
// are made of vectors. Indices were checked before the kernel is called.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/max_pool2d_backward.cpp"
#include "levels.h"

#include <algorithm>
#include <span>

#include "gather.h"
#include "ops/max_pool2d.h"
#include "parallel.h"
#include "scratch.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth another thread

// How far plane n of a tensor, of planes in its last two dimensions, lies from its start.
std::int64_t plane_offset(const View& v, std::int64_t n) {
  std::int64_t offset = 0;
  for (int d = v.rank() - 3; d >= 0; --d) {
    offset += n % v.size(d) * v.stride(d);
    n /= v.size(d);
  }
  return offset;
}

template <class F>
HWY_NOINLINE void plane_of(const View& grad, const View& indices, View& out, std::int64_t n) {
  const int row = out.rank() - 2, column = out.rank() - 1;
  const std::int64_t height = out.size(row), width = out.size(column), pooled = grad.size(column);
  const Dtype type = out.type();
  const std::int64_t bytes = out.dtype.bits / 8;
  const bool in_place = bytes == static_cast<std::int64_t>(sizeof(F)) && out.stride(column) == 1 &&
                        (out.stride(row) == width || height == 1);
  Scratch scratch(scratch_bytes<F>(in_place ? 0 : height * width) + scratch_bytes<F>(pooled));
  F* const sums = in_place ? out.as<F>() + plane_offset(out, n) : scratch.take<F>(height * width);
  F* const gathered = scratch.take<F>(pooled);
  const char* const numbers = grad.as<const char>() + plane_offset(grad, n) * bytes;
  const std::int64_t* const all_places = indices.as<const std::int64_t>() + plane_offset(indices, n);
  const bool as_they_lie = bytes == static_cast<std::int64_t>(sizeof(F)) && grad.stride(column) == 1;
  std::fill_n(sums, height * width, F{0});
  for (std::int64_t y = 0; y < grad.size(row); ++y) {
    const char* const from = numbers + y * grad.stride(row) * bytes;
    if (!as_they_lie) gather(gathered, from, type, grad.stride(column), type, pooled);
    const F* const terms = as_they_lie ? reinterpret_cast<const F*>(from) : gathered;
    const std::int64_t* const places = all_places + y * indices.stride(row);
    const std::int64_t step = indices.stride(column);
    for (std::int64_t x = 0; x < pooled; ++x) sums[places[x * step]] += terms[x];
  }
  for (std::int64_t y = 0; y < height && !in_place; ++y)
    scatter(out.as<char>() + (plane_offset(out, n) + y * out.stride(row)) * bytes, type, out.stride(column),
            sums + y * width, width);
}

void max_pool2d_with_indices_backward(const View& grad_output, const View& /*self*/,
                                      std::span<const std::int64_t> /*kernel_size*/,
                                      std::span<const std::int64_t> /*stride*/,
                                      std::span<const std::int64_t> /*padding*/,
                                      std::span<const std::int64_t> /*dilation*/, bool /*ceil_mode*/,
                                      const View& indices, View& out) {
  if (out.numel() == 0) return;
  const std::int64_t plane = out.size(out.rank() - 2) * out.size(out.rank() - 1);
  parallel_for(out.numel() / plane, 1 + kGrain / plane, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      if (out.type() == Dtype::f64)
        plane_of<double>(grad_output, indices, out, n);
      else
        plane_of<float>(grad_output, indices, out, n);
  });
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::max_pool2d_with_indices_backward, max_pool2d_with_indices_backward, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
