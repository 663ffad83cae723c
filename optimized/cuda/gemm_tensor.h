// The product on tensor cores: f16 and bf16.
//
// A block of four warps has a tile of the output, each warp a part of it, in fragments of 16 x 8. Both operands pass
// through shared memory kTensorDepth terms at a time and in kStages buffers, so that the copies of the next terms are
// under way while these are multiplied. An operand lies there as in memory, along k or across it, and ldmatrix turns it
// round where it must. What cannot be copied 16 bytes at a time is read element by element, into the same places.
#pragma once

#include "gemm_operand.h"
#include "mma.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <int rows, int columns, int of_warp_rows, int of_warp_columns>
struct TensorTile {
  static constexpr int tile_rows = rows, tile_columns = columns;
  static constexpr int warp_rows = of_warp_rows, warp_columns = of_warp_columns;
  static constexpr bool shares_sums = true;
  static constexpr int warps_across = columns / warp_columns;
  static constexpr int threads = rows / warp_rows * warps_across * 32;
};

inline constexpr int kTensorDepth = 32;
inline constexpr int kStages = 3;
inline constexpr int kTensorPad = 8;  // halves between rows, so that eight of them meet all banks

// One operand in shared memory: `outers` of it.
template <class T, int outers, int threads>
struct TensorStage {
  static constexpr int along_k = kTensorDepth + kTensorPad, across_k = outers + kTensorPad;
  static constexpr int size =
      outers * along_k > kTensorDepth* across_k ? outers* along_k : kTensorDepth* across_k;
  static constexpr int groups = outers * kTensorDepth / 8 / threads;
  static_assert(groups * threads * 8 == outers * kTensorDepth);

  static __device__ __forceinline__ int place(bool k_fast, int outer, int k) {
    return k_fast ? outer * along_k + k : k * across_k + outer;
  }

  static __device__ __forceinline__ void fetch(const GemmSource& source, const T* from, T* shared,
                                               std::int64_t first, std::int64_t k_first, std::int64_t end,
                                               std::int64_t k_end) {
    ASSAY_UNROLL
    for (int g = 0; g < groups; ++g) {
      const int i = g * threads + static_cast<int>(threadIdx.x);
      int outer, k;
      if (source.k_fast) {
        k = i % (kTensorDepth / 8) * 8;
        outer = i / (kTensorDepth / 8);
      } else {
        outer = i % (outers / 8) * 8;
        k = i / (outers / 8);
      }
      T* const to = shared + place(source.k_fast, outer, k);
      const std::int64_t o = first + outer, p = k_first + k;
      if (source.vectors) {
        // 8 at a time or fewer at the ends, which are whole 16 bytes of memory but for those of the matrix.
        const std::int64_t left = source.k_fast ? (o < end ? k_end - p : 0) : (p < k_end ? end - o : 0);
        const int bytes = left >= 8 ? 16 : left <= 0 ? 0 : static_cast<int>(left) * 2;
        copy_async(to, bytes == 0 ? from : from + o * source.outer_stride + p * source.k_stride, bytes);
      } else {
        Vector<T> v;
        source.row(from, o, p, end, k_end, v.element);
        store_vector(to, v);
      }
    }
  }
};

// Starts on its way what step `step` of a block multiplies: a group of copies, which is empty behind the last step.
template <class A, class B, class T>
__device__ __forceinline__ void fetch_terms(const GemmSource& a, const GemmSource& b, const T* a_from,
                                            const T* b_from, T* buffer, const GemmGrid& grid,
                                            const GemmGrid::Part& part, std::int64_t step) {
  const std::int64_t k = part.begin + step * kTensorDepth;
  if (k < part.end) {
    T* const to = buffer + step % kStages * (A::size + B::size);
    A::fetch(a, a_from, to, part.row, k, grid.rows, part.end);
    B::fetch(b, b_from, to + A::size, part.column, k, grid.columns, part.end);
  }
  end_copies();
}

// Budget: 255 registers, 3.14 sectors, 1.18 passes.
template <class T, class Tile>
__global__ void __launch_bounds__(Tile::threads, 2)
    gemm_tensor_kernel(GemmSource a, GemmSource b, GemmGrid grid, GemmSink<T> sink, float* sums) {
  using A = TensorStage<T, Tile::tile_rows, Tile::threads>;
  using B = TensorStage<T, Tile::tile_columns, Tile::threads>;
  constexpr int m = Tile::warp_rows / 16, n = Tile::warp_columns / 8;
  static_assert(n % 2 == 0);
  ASSAY_SHARED_DYNAMIC(T, buffer);

  const GemmGrid::Part part = grid.part(Tile::tile_rows, Tile::tile_columns);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row_at = warp / Tile::warps_across * Tile::warp_rows;
  const int column_at = warp % Tile::warps_across * Tile::warp_columns;
  const T* const a_from = static_cast<const T*>(a.data) + part.batch * a.batch_stride;
  const T* const b_from = static_cast<const T*>(b.data) + part.batch * b.batch_stride;
  const std::int64_t steps = (part.end - part.begin + kTensorDepth - 1) / kTensorDepth;

  float sum[m][n][4] = {}, total[m][n][4] = {};
  for (int s = 0; s < kStages - 1; ++s) fetch_terms<A, B>(a, b, a_from, b_from, buffer, grid, part, s);
  for (std::int64_t step = 0; step < steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // everyone's copies have arrived, and everyone is done with the buffer that comes next
    fetch_terms<A, B>(a, b, a_from, b_from, buffer, grid, part, step + kStages - 1);
    const T* const a_here = buffer + step % kStages * (A::size + B::size);
    const T* const b_here = a_here + A::size;
    ASSAY_UNROLL
    for (int k = 0; k < kTensorDepth; k += 16) {
      unsigned x[m][4], y[n / 2][4];
      // Lane i gives row i % 8 of matrix i / 8; matrices go down, then along k.
      ASSAY_UNROLL
      for (int i = 0; i < m; ++i) {
        const int row = row_at + i * 16;
        if (a.k_fast)
          load_matrices(x[i], a_here + A::place(true, row + lane % 16, k + lane / 16 * 8));
        else
          load_matrices_transposed(
              x[i], a_here + A::place(false, row + lane / 8 % 2 * 8, k + lane / 16 * 8 + lane % 8));
      }
      // Matrices go along k, then to the next eight columns.
      ASSAY_UNROLL
      for (int j = 0; j < n / 2; ++j) {
        const int column = column_at + j * 16;
        if (b.k_fast)
          load_matrices(y[j],
                        b_here + B::place(true, column + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
        else
          load_matrices_transposed(y[j], b_here + B::place(false, column + lane / 16 * 8, k + lane % 16));
      }
      ASSAY_UNROLL
      for (int i = 0; i < m; ++i) ASSAY_UNROLL
      for (int j = 0; j < n; ++j)
        multiply_add(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1], T{});
    }
    const std::int64_t k = part.begin + step * kTensorDepth;
    if ((k + kTensorDepth) % grid.chunk != 0 && step + 1 < steps) continue;
    // The end of a chunk.
    const std::int64_t chunk = k / grid.chunk, chunks = (grid.depth + grid.chunk - 1) / grid.chunk;
    ASSAY_UNROLL
    for (int i = 0; i < m; ++i) ASSAY_UNROLL
    for (int j = 0; j < n; ++j) ASSAY_UNROLL
    for (int e = 0; e < 4; ++e) {
      if (sums != nullptr) {
        const std::int64_t row = part.row + row_at + i * 16 + lane / 4 + e / 2 * 8;
        const std::int64_t column = part.column + column_at + j * 8 + lane % 4 * 2 + e % 2;
        if (row < grid.rows && column < grid.columns)
          sums[((part.batch * chunks + chunk) * grid.rows + row) * grid.columns + column] = sum[i][j][e];
      } else {
        total[i][j][e] = k < grid.chunk ? sum[i][j][e] : total[i][j][e] + sum[i][j][e];
      }
      sum[i][j][e] = 0;
    }
  }
  wait_for_copies<0>();
  if (sums != nullptr) return;
  ASSAY_UNROLL
  for (int i = 0; i < m; ++i) ASSAY_UNROLL
  for (int j = 0; j < n; ++j) ASSAY_UNROLL
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = part.row + row_at + i * 16 + lane / 4 + half * 8;
    const std::int64_t column = part.column + column_at + j * 8 + lane % 4 * 2;
    const float pair[2] = {total[i][j][2 * half], total[i][j][2 * half + 1]};
    if (row < grid.rows) sink.store_row(pair, part.batch, row, column, grid.columns);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
