// The product on ordinary cores: f64, f32 and integers.
//
// A block has a tile of tile_rows x tile_columns sums, a thread thread_rows x thread_columns of them in registers. The
// operands pass through shared memory some terms at a time, k by k, so that a thread reads its rows and columns as
// vectors; while one buffer is multiplied the next terms are on their way into registers, and then into the other one.
#pragma once

#include "gemm_operand.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <int rows, int columns, int of_thread_rows, int of_thread_columns, int terms = 16,
          bool shares = true>
struct GemmTile {
  static constexpr int tile_rows = rows, tile_columns = columns;
  static constexpr int thread_rows = of_thread_rows, thread_columns = of_thread_columns;
  static constexpr int threads = rows / thread_rows * (columns / thread_columns);
  static constexpr bool shares_sums = shares;  // whether blocks may share the terms of a tile
  static constexpr int depth = terms;          // that are in shared memory at a time
  static constexpr int blocks_at_once = threads > 128 ? 1 : 2;  // at least, which bounds registers
};

inline constexpr int kTilePad = 4;  // elements between rows of shared memory: they stay whole vectors

// Terms of one operand on their way: `outers` of it, `depth` deep.
template <class T, int outers, int depth, int threads>
struct GemmStage {
  using C = GemmSum<T>;
  static constexpr int each = outers * depth / threads;
  static constexpr int width = each % 4 == 0 ? 4 : each;  // elements in a row of the fast direction
  static constexpr int groups = each / width;
  static constexpr int stride = outers + kTilePad;
  static_assert(each * threads == outers * depth && outers % width == 0 && depth % width == 0);
  T kept[groups][width];

  // Bank conflicts of writes across rows: rows from 8 on are swapped by halves of 16.
  static __device__ __forceinline__ int place(int k, int outer) {
    return k * stride + (outers >= 16 ? outer ^ (k & 8) : outer);
  }

  __device__ __forceinline__ static void split(const GemmSource& source, int group, int& outer, int& k) {
    const int i = group * threads + static_cast<int>(threadIdx.x);
    if (source.k_fast) {
      k = i % (depth / width) * width;
      outer = i / (depth / width);
    } else {
      outer = i % (outers / width) * width;
      k = i / (outers / width);
    }
  }
  __device__ __forceinline__ void fetch(const GemmSource& source, const T* from, std::int64_t first,
                                        std::int64_t k_first, std::int64_t end, std::int64_t k_end) {
    ASSAY_UNROLL
    for (int g = 0; g < groups; ++g) {
      int outer, k;
      split(source, g, outer, k);
      source.row(from, first + outer, k_first + k, end, k_end, kept[g]);
    }
  }
  __device__ __forceinline__ void put(const GemmSource& source, C* shared) const {
    ASSAY_UNROLL
    for (int g = 0; g < groups; ++g) {
      int outer, k;
      split(source, g, outer, k);
      ASSAY_UNROLL
      for (int j = 0; j < width; ++j) {
        if constexpr (is_integer<T>)
          shared[place(k + (source.k_fast ? j : 0), outer + (source.k_fast ? 0 : j))] =
              static_cast<C>(kept[g][j]);
        else
          shared[place(k + (source.k_fast ? j : 0), outer + (source.k_fast ? 0 : j))] = widened(kept[g][j]);
      }
    }
  }
};

// n numbers of row k, for thread `i` of a row or column of threads: in quarters, so that a warp's reads are neighbours.
template <class Stage, int n, int outers, class C>
__device__ __forceinline__ void read_tile(C (&to)[n], const C* shared, int k, int i) {
  if constexpr (n % 4 == 0 && 4 % Vector<C>::size == 0) {
    constexpr int width = Vector<C>::size;
    ASSAY_UNROLL
    for (int q = 0; q < n / 4; ++q) ASSAY_UNROLL
    for (int v = 0; v < 4; v += width) {
      const Vector<C> x = load_vector(shared + Stage::place(k, q * (outers / (n / 4)) + i * 4 + v));
      ASSAY_UNROLL
      for (int j = 0; j < width; ++j) to[q * 4 + v + j] = x.element[j];
    }
  } else {
    ASSAY_UNROLL
    for (int j = 0; j < n; ++j) to[j] = shared[Stage::place(k, i * n + j)];
  }
}
// The place of number j of those in the tile.
template <int n, int outers>
__device__ __forceinline__ int tile_place(int i, int j) {
  return n % 4 == 0 ? j / 4 * (outers / (n / 4 == 0 ? 1 : n / 4)) + i * 4 + j % 4 : i * n + j;
}

template <class C, int size>
struct alignas(16) GemmBuffers {
  C terms[2][size];
};

// Budget: 250 registers, 1.40 sectors, 1.09 passes.
template <class T, class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks_at_once)
    gemm_tile_kernel(GemmSource a, GemmSource b, GemmGrid grid, GemmSink<T> sink, GemmSum<T>* sums) {
  using C = GemmSum<T>;
  using A = GemmStage<T, Tile::tile_rows, Tile::depth, Tile::threads>;
  using B = GemmStage<T, Tile::tile_columns, Tile::depth, Tile::threads>;
  constexpr int m = Tile::thread_rows, n = Tile::thread_columns;
  constexpr int across = Tile::tile_columns / n;  // threads
  constexpr int a_size = A::stride * Tile::depth, b_size = B::stride * Tile::depth;
  using Buffers = GemmBuffers<C, a_size + b_size>;
  ASSAY_SHARED(Buffers, buffers, );
  static_assert(a_size % Vector<C>::size == 0 && b_size % Vector<C>::size == 0);

  const GemmGrid::Part part = grid.part(Tile::tile_rows, Tile::tile_columns);
  const int across_at = static_cast<int>(threadIdx.x) % across,
            down_at = static_cast<int>(threadIdx.x) / across;
  const T* const a_from = static_cast<const T*>(a.data) + part.batch * a.batch_stride;
  const T* const b_from = static_cast<const T*>(b.data) + part.batch * b.batch_stride;

  C sum[m][n] = {}, total[m][n] = {};
  A a_next;
  B b_next;
  a_next.fetch(a, a_from, part.row, part.begin, grid.rows, part.end);
  b_next.fetch(b, b_from, part.column, part.begin, grid.columns, part.end);
  a_next.put(a, buffers.terms[0]);
  b_next.put(b, buffers.terms[0] + a_size);
  __syncthreads();
  int now = 0;
  for (std::int64_t k = part.begin; k < part.end; k += Tile::depth) {
    const bool more = k + Tile::depth < part.end;
    if (more) {
      a_next.fetch(a, a_from, part.row, k + Tile::depth, grid.rows, part.end);
      b_next.fetch(b, b_from, part.column, k + Tile::depth, grid.columns, part.end);
    }
    const C* const a_here = buffers.terms[now];
    ASSAY_UNROLL
    for (int step = 0; step < Tile::depth; ++step) {
      C x[m], y[n];
      read_tile<A, m, Tile::tile_rows>(x, a_here, step, down_at);
      read_tile<B, n, Tile::tile_columns>(y, a_here + a_size, step, across_at);
      ASSAY_UNROLL
      for (int i = 0; i < m; ++i) ASSAY_UNROLL
      for (int j = 0; j < n; ++j) {
        if constexpr (is_integer<T>)
          sum[i][j] += x[i] * y[j];
        else
          sum[i][j] = fused(x[i], y[j], sum[i][j]);
      }
    }
    if (more) {
      a_next.put(a, buffers.terms[now ^ 1]);
      b_next.put(b, buffers.terms[now ^ 1] + a_size);
    }
    __syncthreads();
    now ^= 1;
    if ((k + Tile::depth) % grid.chunk != 0 && more) continue;
    // The end of a chunk.
    const std::int64_t chunk = k / grid.chunk, chunks = (grid.depth + grid.chunk - 1) / grid.chunk;
    ASSAY_UNROLL
    for (int i = 0; i < m; ++i) ASSAY_UNROLL
    for (int j = 0; j < n; ++j) {
      if (Tile::shares_sums && sums != nullptr) {
        const std::int64_t row = part.row + tile_place<m, Tile::tile_rows>(down_at, i);
        const std::int64_t column = part.column + tile_place<n, Tile::tile_columns>(across_at, j);
        if (row < grid.rows && column < grid.columns)
          sums[((part.batch * chunks + chunk) * grid.rows + row) * grid.columns + column] = sum[i][j];
      } else {
        total[i][j] = k < grid.chunk ? sum[i][j] : total[i][j] + sum[i][j];
      }
      sum[i][j] = 0;
    }
  }
  if (Tile::shares_sums && sums != nullptr) return;
  constexpr int width = n % 4 == 0 ? 4 : n;
  ASSAY_UNROLL
  for (int i = 0; i < m; ++i) ASSAY_UNROLL
  for (int j = 0; j < n; j += width) {
    const std::int64_t row = part.row + tile_place<m, Tile::tile_rows>(down_at, i);
    const std::int64_t column = part.column + tile_place<n, Tile::tile_columns>(across_at, j);
    C row_of_sums[width];
    ASSAY_UNROLL
    for (int l = 0; l < width; ++l) row_of_sums[l] = total[i][j + l];
    if (row < grid.rows) sink.store_row(row_of_sums, part.batch, row, column, grid.columns);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
