// The driver of pooling: every window of every plane goes through an operator that keeps something of what it saw.
//
//   struct Op {
//     template <class C> using State = ...;
//     template <class C> __device__ State<C> begin(std::int64_t place) const;   // of the window's first element
//     template <class C> __device__ void take(State<C>& held, C x, std::int64_t place) const;
//     template <class C> __device__ void join(State<C>& held, const State<C>& other) const;
//     template <class C> __device__ State<C> shuffled(const State<C>& held, int with) const;   // of a lane of the warp
//     template <class C> __device__ C result(const State<C>& held, const PoolShape&, const Pixel&) const;
//     template <class C, int n> __device__ void also(const State<C> (&held)[n], const Pixel&) const;   // other results
//   };
// A place is the number of an element in its plane. Elements outside of the plane are left out.
//
// The idea: a thread takes a result, or, where channels are neighbours in memory, the results of 16 bytes of channels.
// Where windows are large and few, as those of a global pool, 32 parts of each are taken side by side and joined in a
// tree: by the lanes of a warp or, along channels, by the rows of a block. Which of both it is, and so the order of a
// sum, depends on the sizes of windows and planes alone.
#pragma once

#include <span>

#include "element.h"
#include "image.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Two numbers, or one for both dimensions; a stride of none is kernel_size, a dilation of none is 1.
struct Pooling {
  std::span<const std::int64_t> kernel_size, stride, padding, dilation;
};

// One dimension of a plane and the windows over it.
struct PoolAxis {
  std::int64_t size, taps, stride, padding, dilation;

  PoolAxis(const Image& in, const Pooling& p, int d)
      : size(in.size[2 + d]),
        taps(of(p.kernel_size, d)),
        stride(p.stride.empty() ? taps : of(p.stride, d)),
        padding(of(p.padding, d)),
        dilation(p.dilation.empty() ? 1 : of(p.dilation, d)) {}

  __device__ std::int64_t start(std::int64_t at) const { return at * stride - padding; }
  std::int64_t extent() const { return (taps - 1) * dilation + 1; }

 private:
  static std::int64_t of(std::span<const std::int64_t> list, int d) {
    return list.size() == 1 ? list[0] : list[static_cast<std::size_t>(d)];
  }
};

struct PoolShape {
  Image in, out;
  PoolAxis rows, columns;

  PoolShape(const View& self, const View& result, const Pooling& pooling)
      : in(self), out(result), rows(in, pooling, 0), columns(in, pooling, 1) {}

  // Windows of so many elements that a thread should not go through one alone, and that hardly overlap.
  bool large_windows() const {
    const std::int64_t taps = rows.taps * columns.taps;
    return taps >= 32 && taps * out.size[2] * out.size[3] <= 4 * in.size[2] * in.size[3];
  }
};

// What a window has in the plane.
struct PoolRange {
  std::int64_t first, count;

  __device__ PoolRange(const PoolAxis& axis, std::int64_t at) : first(axis.start(at)) {
    const std::int64_t before = -first;
    std::int64_t taps = axis.taps;
    if (before > 0) {
      const std::int64_t skipped =
          axis.dilation == 1 ? before : quotient(before + axis.dilation - 1, axis.dilation);
      first += skipped * axis.dilation;
      taps -= skipped;
    }
    const std::int64_t left = axis.size - first;
    const std::int64_t fit = left <= 0            ? 0
                             : axis.dilation == 1 ? left
                                                  : quotient(left - 1, axis.dilation) + 1;
    count = taps < fit ? taps : fit;
  }
};

struct PoolWindow {
  std::int64_t rows, columns, place, offset;  // place and offset of the first element, or where it would be
  std::int64_t row_step, column_step, row_places, column_places;

  __device__ PoolWindow(const PoolShape& s, const Pixel& p) {
    const PoolRange y(s.rows, p.row), x(s.columns, p.column);
    rows = y.count;
    columns = x.count;
    place = y.first * s.columns.size + x.first;
    offset = s.in.plane(p) + y.first * s.in.stride[2] + x.first * s.in.stride[3];
    row_step = s.rows.dilation * s.in.stride[2];
    column_step = s.columns.dilation * s.in.stride[3];
    row_places = s.rows.dilation * s.columns.size;
    column_places = s.columns.dilation;
    // Whole rows of the plane are one.
    if (columns * column_step == row_step && columns * column_places == row_places) {
      columns *= rows;
      rows = rows == 0 ? 0 : 1;
    }
  }
  __device__ std::int64_t size() const { return rows * columns; }
};

// Element k of a window, in row-major order.
template <class T, class Op, class State>
__device__ __forceinline__ void pool_take(const Op& op, State& held, const T* in, const PoolWindow& w,
                                          std::int64_t k) {
  const std::int64_t row = w.rows == 1 ? 0 : quotient(k, w.columns), column = k - row * w.columns;
  op.take(held, widened(in[w.offset + row * w.row_step + column * w.column_step]),
          w.place + row * w.row_places + column * w.column_places);
}

// Budget: 48 registers, 1.96 sectors.
template <class Op, class T>
__global__ void pool_kernel(Op op, T* out, const T* in, PoolShape shape, Walk walk) {
  using C = Compute<T>;
  for (std::int64_t i = global_thread(); i < walk.count; i += global_threads()) {
    const Pixel p = walk.at(i);
    const PoolWindow w(shape, p);
    typename Op::template State<C> held[1] = {op.template begin<C>(w.place)};
    for (std::int64_t row = 0; row < w.rows; ++row) {
      const T* from = in + w.offset + row * w.row_step;
      std::int64_t place = w.place + row * w.row_places;
      for (std::int64_t left = w.columns; left > 0; --left, from += w.column_step, place += w.column_places)
        op.take(held[0], widened(*from), place);
    }
    out[shape.out.offset(p)] = narrowed<T>(op.result(held[0], shape, p));
    op.template also<C>(held, p);
  }
}

// Budget: 120 registers.
template <class Op, class T>
__global__ void pool_channels_kernel(Op op, T* out, const T* in, PoolShape shape, Walk walk) {
  using C = Compute<T>;
  constexpr int width = Vector<T>::size;
  for (std::int64_t i = global_thread(); i < walk.count; i += global_threads()) {
    const Pixel p = walk.at(i);
    const PoolWindow w(shape, p);
    typename Op::template State<C> held[width];
    ASSAY_UNROLL
    for (int c = 0; c < width; ++c) held[c] = op.template begin<C>(w.place);
    for (std::int64_t row = 0; row < w.rows; ++row) {
      const T* from = in + w.offset + row * w.row_step;
      std::int64_t place = w.place + row * w.row_places;
      for (std::int64_t left = w.columns; left > 0; --left, from += w.column_step, place += w.column_places) {
        const Vector<T> x = load_vector(from);
        ASSAY_UNROLL
        for (int c = 0; c < width; ++c) op.take(held[c], widened(x.element[c]), place);
      }
    }
    Vector<T> y;
    ASSAY_UNROLL
    for (int c = 0; c < width; ++c) y.element[c] = narrowed<T>(op.result(held[c], shape, p));
    store_vector(out + shape.out.offset(p), y);
    op.template also<C>(held, p);
  }
}

inline constexpr int kPoolParts = 32, kPoolBlockRows = 8;

template <class T, class Op, class State>
__device__ __forceinline__ void pool_store(const Op& op, T* out, const PoolShape& shape, const Pixel& p,
                                           const State (&held)[1]) {
  out[shape.out.offset(p)] = narrowed<T>(op.result(held[0], shape, p));
  op.template also<Compute<T>>(held, p);
}

// A warp takes a window.
// Budget: 64 registers, 1.33 sectors.
template <class Op, class T>
__global__ void pool_large_kernel(Op op, T* out, const T* in, PoolShape shape, Walk walk) {
  using C = Compute<T>;
  const auto lane = static_cast<int>(threadIdx.x);
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; i < walk.count;
       i += warps) {
    const Pixel p = walk.at(i);
    const PoolWindow w(shape, p);
    typename Op::template State<C> held[1] = {op.template begin<C>(w.place)};
    for (std::int64_t k = lane; k < w.size(); k += kPoolParts) pool_take(op, held[0], in, w, k);
    for (int with = kPoolParts / 2; with > 0; with /= 2) op.join(held[0], op.shuffled(held[0], with));
    if (lane == 0) pool_store(op, out, shape, p, held);
  }
}

// A block takes the windows of 32 channels, a lane one of them, each row of threads four parts.
// Budget: 62 registers, 1.00 sectors, 1.00 passes.
template <class Op, class T>
__global__ void pool_large_channels_kernel(Op op, T* out, const T* in, PoolShape shape, Walk walk) {
  using C = Compute<T>;
  using State = typename Op::template State<C>;
  constexpr int own = kPoolParts / kPoolBlockRows;
  ASSAY_SHARED(State, parts, [kPoolBlockRows][kWarpSize]);
  const auto lane = static_cast<int>(threadIdx.x), part = static_cast<int>(threadIdx.y);
  for (std::int64_t i = blockIdx.x; i < walk.count; i += gridDim.x) {
    Pixel p = walk.at(i);
    p.channel += lane;
    const bool there = p.channel < shape.out.size[1];
    const PoolWindow w(shape, p);
    State held[own];
    ASSAY_UNROLL
    for (int j = 0; j < own; ++j) held[j] = op.template begin<C>(w.place);
    const std::int64_t size = there ? w.size() : 0;
    for (std::int64_t k = part; k < size; k += kPoolParts) {
      ASSAY_UNROLL
      for (int j = 0; j < own; ++j)
        if (k + j * kPoolBlockRows < size) pool_take(op, held[j], in, w, k + j * kPoolBlockRows);
    }
    ASSAY_UNROLL
    for (int with = own / 2; with > 0; with /= 2) {
      ASSAY_UNROLL
      for (int j = 0; j < with; ++j) op.join(held[j], held[j + with]);
    }
    parts[part][lane] = held[0];
    __syncthreads();
    for (int with = kPoolBlockRows / 2; with > 0; with /= 2) {
      if (part < with) op.join(parts[part][lane], parts[part + with][lane]);
      __syncthreads();
    }
    if (part == 0 && there) {
      const State all[1] = {parts[0][lane]};
      pool_store(op, out, shape, p, all);
    }
    __syncthreads();
  }
}

inline constexpr int kPoolThreads = 256;

template <class T, class Op>
void pool_as(const Op& op, const View& self, View& out, const PoolShape& shape) {
  T* const to = out.as<T>();
  const T* const from = self.as<const T>();
  constexpr int width = Vector<T>::size;
  const bool along_channels = shape.in.along_channels();
  // Integers, which hardly anybody pools so, stay with threads of their own: their results do not depend on order.
  if constexpr (!is_integer<T>) {
    if (shape.large_windows()) {
      const Walk walk(shape.out, along_channels, along_channels ? kWarpSize : 1);
      const dim3 block(kWarpSize, kPoolBlockRows);
      if (along_channels)
        return launch<pool_large_channels_kernel<Op, T>>(blocks_for(walk.count, 1), block, 0, op, to, from,
                                                         shape, walk);
      return launch<pool_large_kernel<Op, T>>(blocks_for(walk.count, kPoolBlockRows), block, 0, op, to, from,
                                              shape, walk);
    }
  }
  if (shape.in.in_vectors(1, from, width) && shape.out.in_vectors(1, to, width)) {
    const Walk walk(shape.out, true, width);
    return launch<pool_channels_kernel<Op, T>>(blocks_for(walk.count, kPoolThreads), kPoolThreads, 0, op, to,
                                               from, shape, walk);
  }
  const Walk walk(shape.out, along_channels, 1);
  launch<pool_kernel<Op, T>>(blocks_for(walk.count, kPoolThreads), kPoolThreads, 0, op, to, from, shape,
                             walk);
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
