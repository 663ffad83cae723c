// The largest number of each window, by pool.h, and its gradient.
//
// Parts of a window are joined so that it does not matter who took which: of equal numbers the one that stands first
// wins, of several NaN the last.
//
// The gradient goes the other way round: a thread takes an element of the image and adds up what chose it, in the order
// of the windows, so that no two threads write to one place. It looks through the windows that reach over its element.
// An index may be anything in the plane, though. Whoever holds the first element of a window's reach looks whether the
// index lies within it; if one does not, its plane is computed again from all of the plane's indices. Both ways add the same
// numbers in the same order.
#include "ops/max_pool2d.h"

#include <cmath>

#include "pool.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct MaxPool {
  template <class C>
  struct State {
    C value;
    std::int64_t place;
  };
  std::int64_t least;     // of the integers
  std::int64_t* indices;  // or null
  Image places;

  template <class C>
  __device__ State<C> begin(std::int64_t place) const {
    if constexpr (is_integer<C>)
      return {least, place};
    else
      return {static_cast<C>(-INFINITY), place};
  }
  template <class C>
  __device__ void take(State<C>& held, C x, std::int64_t place) const {
    if (x > held.value || x != x) held = {x, place};
  }
  template <class C>
  __device__ void join(State<C>& held, const State<C>& other) const {
    const bool nan = held.value != held.value, other_nan = other.value != other.value;
    const bool wins =
        other_nan ? !nan || other.place > held.place
                  : other.value > held.value || (other.value == held.value && other.place < held.place);
    if (wins) held = other;
  }
  template <class C>
  __device__ State<C> shuffled(const State<C>& held, int with) const {
    return {__shfl_xor_sync(~0u, held.value, with),
            static_cast<std::int64_t>(__shfl_xor_sync(~0u, static_cast<long long>(held.place), with))};
  }
  template <class C>
  __device__ C result(const State<C>& held, const PoolShape&, const Pixel&) const {
    return held.value;
  }
  template <class C, int n>
  __device__ void also(const State<C> (&held)[n], const Pixel& p) const {
    if (indices == nullptr) return;
    std::int64_t* const to = indices + places.offset(p);
    if constexpr (n > 1) {
      if (places.stride[1] == 1 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
        ASSAY_UNROLL
        for (int c = 0; c < n; c += 2)
          store_vector(to + c, Vector<std::int64_t>{{held[c].place, held[c + 1].place}});
        return;
      }
    }
    ASSAY_UNROLL
    for (int c = 0; c < n; ++c) to[c * places.stride[1]] = held[c].place;
  }
};

inline constexpr int kMaxPoolThreads = 256;

struct MaxPoolBackward {
  Image grad, indices, out;
  std::int64_t stride[2], padding[2], extent[2];
};

struct MaxPoolReach {
  std::int64_t first, last;  // windows over an element of one dimension

  __device__ MaxPoolReach(const MaxPoolBackward& s, int d, std::int64_t at) {
    const std::int64_t end = at + s.padding[d], begin = end - s.extent[d];
    first = begin < 0 ? 0 : quotient(begin, s.stride[d]) + 1;
    last = quotient(end, s.stride[d]);
    if (last >= s.grad.size[2 + d]) last = s.grad.size[2 + d] - 1;
  }
};

// Where the reach of window `at` begins in the plane.
__device__ __forceinline__ std::int64_t max_pool_first(const MaxPoolBackward& s, int d, std::int64_t at) {
  const std::int64_t start = at * s.stride[d] - s.padding[d];
  return start < 0 ? 0 : start;
}

// Budget: 70 registers, 1.83 sectors, 1.00 passes.
template <class T>
__global__ void max_pool_backward_kernel(T* out, const T* grad, const std::int64_t* indices, int* strays,
                                         MaxPoolBackward s, Walk walk) {
  const std::int64_t width = s.out.size[3];
  for (std::int64_t i = global_thread(); i < walk.count; i += global_threads()) {
    const Pixel p = walk.at(i);
    const MaxPoolReach rows(s, 0, p.row), columns(s, 1, p.column);
    const std::int64_t place = p.row * width + p.column;
    Compute<T> sum = 0;
    bool stray = false;
    for (std::int64_t y = rows.first; y <= rows.last; ++y) {
      const bool first_row = max_pool_first(s, 0, y) == p.row;
      for (std::int64_t x = columns.first; x <= columns.last; ++x) {
        const Pixel o{p.image, p.channel, y, x};
        const std::int64_t chosen = indices[s.indices.offset(o)];
        if (chosen == place) sum += widened(grad[s.grad.offset(o)]);
        if (!first_row || max_pool_first(s, 1, x) != p.column) continue;
        const std::int64_t row = quotient(chosen, width), column = chosen - row * width;
        stray = stray || row < p.row || row >= y * s.stride[0] - s.padding[0] + s.extent[0] ||
                column < p.column || column >= x * s.stride[1] - s.padding[1] + s.extent[1];
      }
    }
    out[s.out.offset(p)] = narrowed<T>(sum);
    if (stray) atomicAdd(strays + p.image * s.out.size[1] + p.channel, 1);
  }
}

inline constexpr int kMaxPoolOwn = 32, kMaxPoolStrayThreads = 128;

// A thread takes 32 elements of a plane, in shared memory, and goes through all windows of the plane: threads of one plane
// read the same index at a time, and each has a bank of its own.
// Budget: 64 registers, 1.83 sectors, 1.00 passes.
template <class T>
__global__ void max_pool_stray_kernel(T* out, const T* grad, const std::int64_t* indices, const int* strays,
                                      MaxPoolBackward s, std::int64_t count) {
  ASSAY_SHARED(Compute<T>, sums, [kMaxPoolOwn][kMaxPoolStrayThreads]);
  const std::int64_t elements = s.out.size[2] * s.out.size[3];
  const std::int64_t pieces = (elements + kMaxPoolOwn - 1) / kMaxPoolOwn;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    const std::int64_t plane = quotient(i, pieces), first = (i - plane * pieces) * kMaxPoolOwn;
    if (strays[plane] == 0) continue;
    Pixel p{quotient(plane, s.out.size[1]), plane % s.out.size[1], 0, 0};
    const std::int64_t* const all_indices = indices + s.indices.plane(p);
    const T* const all_numbers = grad + s.grad.plane(p);
    for (int j = 0; j < kMaxPoolOwn; ++j) sums[j][threadIdx.x] = 0;
    for (std::int64_t y = 0; y < s.grad.size[2]; ++y)
      for (std::int64_t x = 0; x < s.grad.size[3]; ++x) {
        const std::int64_t at = all_indices[y * s.indices.stride[2] + x * s.indices.stride[3]] - first;
        if (at >= 0 && at < kMaxPoolOwn)
          sums[at][threadIdx.x] += widened(all_numbers[y * s.grad.stride[2] + x * s.grad.stride[3]]);
      }
    for (int j = 0; j < kMaxPoolOwn && first + j < elements; ++j) {
      p.row = quotient(first + j, s.out.size[3]);
      p.column = first + j - p.row * s.out.size[3];
      out[s.out.offset(p)] = narrowed<T>(sums[j][threadIdx.x]);
    }
  }
}

// Budget: 22 registers, 1.83 sectors, 1.00 passes.
__global__ void max_pool_no_strays_kernel(int* strays, std::int64_t count) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) strays[i] = 0;
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

std::int64_t least_of(Dtype type) {
  return is_float(type) ? 0 : static_cast<std::int64_t>(integer_range(type).least);
}

void max_pool2d_with_indices(const View& self, std::span<const std::int64_t> kernel_size,
                             std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                             std::span<const std::int64_t> dilation, bool /*ceil_mode*/, View& out,
                             View& indices) {
  if (out.numel() == 0) return;
  const PoolShape shape(self, out, {kernel_size, stride, padding, dilation});
  const MaxPool op{least_of(out.type()), indices.as<std::int64_t>(), Image(indices)};
  with_element(out.type(), [&](auto element) { pool_as<decltype(element)>(op, self, out, shape); });
}

void max_pool2d(const View& self, std::span<const std::int64_t> kernel_size,
                std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                std::span<const std::int64_t> dilation, bool /*ceil_mode*/, View& out) {
  if (out.numel() == 0) return;
  const PoolShape shape(self, out, {kernel_size, stride, padding, dilation});
  const MaxPool op{least_of(out.type()), nullptr, {}};
  with_element(out.type(), [&](auto element) { pool_as<decltype(element)>(op, self, out, shape); });
}

void max_pool2d_with_indices_backward(const View& grad_output, const View& self,
                                      std::span<const std::int64_t> kernel_size,
                                      std::span<const std::int64_t> stride,
                                      std::span<const std::int64_t> padding,
                                      std::span<const std::int64_t> dilation, bool /*ceil_mode*/,
                                      const View& indices, View& out) {
  if (out.numel() == 0) return;
  const PoolShape shape(self, out, {kernel_size, stride, padding, dilation});
  const PoolAxis &rows = shape.rows, &columns = shape.columns;
  const MaxPoolBackward s{Image(grad_output),
                          Image(indices),
                          Image(out),
                          {rows.stride, columns.stride},
                          {rows.padding, columns.padding},
                          {rows.extent(), columns.extent()}};
  const std::int64_t planes = s.out.size[0] * s.out.size[1];
  const Scratch<int> strays(planes);
  launch<max_pool_no_strays_kernel>(blocks_for(planes, kMaxPoolThreads), kMaxPoolThreads, 0, strays.data(),
                                    planes);
  const std::int64_t plane = s.out.size[2] * s.out.size[3];
  const std::int64_t pieces = planes * ((plane + kMaxPoolOwn - 1) / kMaxPoolOwn);
  const Walk walk(s.out, s.out.along_channels(), 1);
  with_floating_point(out.type(), [&](auto element) {
    using T = decltype(element);
    T* const to = out.as<T>();
    const T* const grad = grad_output.as<const T>();
    const auto* const chosen = indices.as<const std::int64_t>();
    launch<max_pool_backward_kernel<T>>(blocks_for(walk.count, kMaxPoolThreads), kMaxPoolThreads, 0, to, grad,
                                        chosen, strays.data(), s, walk);
    launch<max_pool_stray_kernel<T>>(blocks_for(pieces, kMaxPoolStrayThreads), kMaxPoolStrayThreads, 0, to,
                                     grad, chosen, strays.data(), s, pieces);
  });
}

constexpr assay_kernel max_pool2d_kernels[] = {
    ASSAY_CUDA(ops::max_pool2d_with_indices, max_pool2d_with_indices, nullptr),
    ASSAY_CUDA(ops::max_pool2d_with_indices_backward, max_pool2d_with_indices_backward, nullptr),
    ASSAY_CUDA(ops::max_pool2d, max_pool2d, nullptr)};
const Enrolled max_pool2d_enrolled{max_pool2d_kernels};

}  // namespace
}  // namespace assay::cuda
