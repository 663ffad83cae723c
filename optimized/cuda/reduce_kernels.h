// The kernels of reduce.h.
#pragma once

#include "access.h"
#include "block.h"
#include "space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kReduceThreads = 256;
inline constexpr int kReduceAhead = 4;  // vectors that a thread loads before it adds them

template <class T, std::size_t... k>
__device__ __forceinline__ void load_at(Compute<T> (&x)[sizeof...(k)], const Sources<sizeof...(k)>& in,
                                        const std::int64_t (&offset)[sizeof...(k)]) {
  ((x[k] = load_one<T>(in.data[k], in.type[k], offset[k])), ...);
}

// What output i starts from, which a reducer may want to know.
template <class Reducer>
__device__ __forceinline__ typename Reducer::State start_of(const Reducer& reducer, std::int64_t i) {
  if constexpr (requires { reducer.start(i); })
    return reducer.start(i);
  else
    return reducer.template identity<typename Reducer::State>();
}

// What the `lanes` threads of a group hold of elements [begin, end), this thread's part. `at` is where element 0 lies.
template <class T, class Reducer, std::size_t... k>
__device__ __forceinline__ typename Reducer::State row_part(const Reducer& reducer, std::int64_t i,
                                                            const Sources<sizeof...(k)>& in,
                                                            const std::int64_t (&at)[sizeof...(k) + 1],
                                                            const Space<sizeof...(k)>& reduced,
                                                            std::int64_t begin, std::int64_t end, int lane,
                                                            int lanes, Access access) {
  using C = Compute<T>;
  constexpr int width = Vector<T>::size;
  typename Reducer::State state[width];
  for (auto& s : state) s = start_of(reducer, i);
  if (access == Access::vectors) {
    const std::int64_t step = static_cast<std::int64_t>(lanes) * width;
    for (std::int64_t first = begin + lane * width; first < end; first += step * kReduceAhead) {
      Vector<T> x[kReduceAhead][sizeof...(k)];
      ASSAY_UNROLL
      for (int a = 0; a < kReduceAhead; ++a) {
        if (first + a * step >= end) continue;
        std::int64_t offset[sizeof...(k)];
        reduced.locate(first + a * step, offset);
        ((x[a][k] = load_vector(static_cast<const T*>(in.data[k]) + at[k + 1] + offset[k])), ...);
      }
      ASSAY_UNROLL
      for (int a = 0; a < kReduceAhead; ++a)
        if (first + a * step < end) {
          ASSAY_UNROLL
          for (int v = 0; v < width; ++v)
            reducer.add(state[v], first + a * step + v, widened(x[a][k].element[v])...);
        }
    }
  } else {
    // Element v of a piece: its distance from the one before, and of pieces.
    const std::int64_t within = access == Access::pieces ? 1 : lanes;
    const std::int64_t first = access == Access::pieces ? lane * width : lane;
    for (std::int64_t piece = begin + first; piece < end; piece += static_cast<std::int64_t>(lanes) * width) {
      ASSAY_UNROLL
      for (int v = 0; v < width; ++v) {
        const std::int64_t j = piece + v * within;
        if (j >= end) continue;
        std::int64_t offset[sizeof...(k)];
        reduced.locate(j, offset);
        for (std::size_t m = 0; m < sizeof...(k); ++m) offset[m] += at[m + 1];
        C x[sizeof...(k)];
        load_at<T, k...>(x, in, offset);
        reducer.add(state[v], j, x[k]...);
      }
    }
  }
  ASSAY_UNROLL
  for (int half = width / 2; half > 0; half /= 2)
    for (int v = 0; v < half; ++v) state[v] = reducer.combine(state[v], state[v + half]);
  return state[0];
}

// blockDim.x threads take an output, or, blockIdx.y of gridDim.y, `share` of its elements; blockDim.y outputs are a block's.
// Budget: 94 registers, 16 bytes spilled, 1.00 sectors.
template <class T, class Reducer, std::size_t... k>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_rows_kernel(Reducer reducer, Sources<sizeof...(k)> in, Space<sizeof...(k) + 1> kept,
                       Space<sizeof...(k)> reduced, Access access, std::int64_t share,
                       typename Reducer::State* partial) {
  const std::int64_t begin = share * blockIdx.y;
  const std::int64_t end = begin + share < reduced.count ? begin + share : reduced.count;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  // All threads of a warp go round equally often, for they meet in shuffles.
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; first < kept.count;
       first += step) {
    const std::int64_t i = first + threadIdx.y;
    auto state = reducer.template identity<typename Reducer::State>();
    std::int64_t at[sizeof...(k) + 1] = {};
    if (i < kept.count) {
      kept.locate(i, at);
      state = row_part<T, Reducer, k...>(reducer, i, in, at, reduced, begin, end,
                                         static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), access);
    }
    state = group_combined(reducer, state, static_cast<int>(blockDim.x));
    if (threadIdx.x != 0 || i >= kept.count) continue;
    if (partial != nullptr)
      partial[i * gridDim.y + blockIdx.y] = state;
    else
      reducer.store(i, at[0], state, reduced.count);
  }
}

// `wide` neighbours of dimension 0 of `kept` are a thread's, 1 or a vector's: `kept` counts them as one. Threads above
// each other share the elements.
// Budget: 82 registers, 28 bytes spilled, 1.05 sectors, 1.00 passes.
template <class T, class Reducer, std::size_t... k>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_columns_kernel(Reducer reducer, Sources<sizeof...(k)> in, Space<sizeof...(k) + 1> kept,
                          Space<sizeof...(k)> reduced, Access access, std::int64_t out_step,
                          std::int64_t share, typename Reducer::State* partial) {
  using C = Compute<T>;
  using State = typename Reducer::State;
  constexpr int width = Vector<T>::size;
  const int wide = access == Access::strided ? 1 : width;
  const std::int64_t begin = share * blockIdx.y;
  const std::int64_t end = begin + share < reduced.count ? begin + share : reduced.count;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::int64_t at[sizeof...(k) + 1] = {};
  State state[width];
  for (int v = 0; v < width; ++v)
    state[v] =
        i < kept.count && v < wide ? start_of(reducer, i * wide + v) : reducer.template identity<State>();
  if (i < kept.count) {
    kept.locate(i, at);
    if (access == Access::vectors) {
      for (std::int64_t first = begin + threadIdx.y; first < end; first += blockDim.y * kReduceAhead) {
        Vector<T> x[kReduceAhead][sizeof...(k)];
        ASSAY_UNROLL
        for (int a = 0; a < kReduceAhead; ++a) {
          const std::int64_t j = first + a * static_cast<std::int64_t>(blockDim.y);
          if (j >= end) continue;
          std::int64_t offset[sizeof...(k)];
          reduced.locate(j, offset);
          ((x[a][k] = load_vector(static_cast<const T*>(in.data[k]) + at[k + 1] + offset[k])), ...);
        }
        ASSAY_UNROLL
        for (int a = 0; a < kReduceAhead; ++a) {
          const std::int64_t j = first + a * static_cast<std::int64_t>(blockDim.y);
          if (j >= end) continue;
          ASSAY_UNROLL
          for (int v = 0; v < width; ++v) reducer.add(state[v], j, widened(x[a][k].element[v])...);
        }
      }
    } else {
      for (std::int64_t j = begin + threadIdx.y; j < end; j += blockDim.y) {
        std::int64_t offset[sizeof...(k)];
        reduced.locate(j, offset);
        for (std::size_t n = 0; n < sizeof...(k); ++n) offset[n] += at[n + 1];
        ASSAY_UNROLL
        for (int v = 0; v < width; ++v) {
          if (v >= wide) continue;
          C x[sizeof...(k)];
          load_at<T, k...>(x, in, offset);
          reducer.add(state[v], j, x[k]...);
          for (std::size_t n = 0; n < sizeof...(k); ++n) ++offset[n];
        }
      }
    }
  }
  // Those above each other, as a tree.
  ASSAY_SHARED(State, below, [width * kReduceThreads]);
  const unsigned me = threadIdx.y * blockDim.x + threadIdx.x;
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    if (threadIdx.y >= half && threadIdx.y < 2 * half) {
      ASSAY_UNROLL
      for (int v = 0; v < width; ++v)
        if (v < wide) below[v * kReduceThreads + me] = state[v];
    }
    __syncthreads();
    if (threadIdx.y < half) {
      ASSAY_UNROLL
      for (int v = 0; v < width; ++v)
        if (v < wide)
          state[v] = reducer.combine(state[v], below[v * kReduceThreads + me + half * blockDim.x]);
    }
  }
  if (threadIdx.y != 0 || i >= kept.count) return;
  ASSAY_UNROLL
  for (int v = 0; v < width; ++v) {
    if (v >= wide) continue;
    const std::int64_t output = i * wide + v;
    if (partial != nullptr)
      partial[output * gridDim.y + blockIdx.y] = state[v];
    else
      reducer.store(output, at[0] + v * out_step, state[v], reduced.count);
  }
}

// blockDim.x lanes join the parts of an output.
// Budget: 40 registers, 1.00 sectors, 1.00 passes.
template <class T, class Reducer, int operands>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_join_kernel(Reducer reducer, const typename Reducer::State* partial, Space<operands> kept,
                       std::int64_t parts, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; first < kept.count;
       first += step) {
    const std::int64_t i = first + threadIdx.y;
    auto state = reducer.template identity<typename Reducer::State>();
    if (i < kept.count)
      for (std::int64_t part = threadIdx.x; part < parts; part += blockDim.x)
        state = reducer.combine(state, partial[i * parts + part]);
    state = warp_combined(reducer, state, static_cast<int>(blockDim.x));
    if (threadIdx.x != 0 || i >= kept.count) continue;
    std::int64_t at[operands];
    kept.locate(i, at);
    reducer.store(i, at[0], state, n);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
