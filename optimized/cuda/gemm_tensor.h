// The product on tensor cores: f16 and bf16.
//
// A block of four or eight warps has a tile of the output, each warp a part of it, in fragments of 16 x 8. Both operands pass
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
  // At least, which bounds registers: a warp has two numbers for each of its sums.
  static constexpr int blocks_at_once = (warp_rows * warp_columns > 1024 ? 256 : 512) / threads;
};

inline constexpr int kTensorDepth = 64;
inline constexpr int kStages = 2;
inline constexpr int kTensorPad = 8;  // halves between rows, so that eight of them meet all banks

// How an operand comes into shared memory. One that is copied 16 bytes at a time has a kernel for either direction, in which
// no registers and no instructions remain of the other ways.
enum class TensorWay { element_by_element, copied_along_k, copied_across_k };

// One operand: `outers` of it in shared memory, and which of its elements a thread copies there. Those of a step are
// groups of eight neighbours, each as far from the one before.
template <class T, TensorWay way, int outers, int threads>
struct TensorStage {
  static constexpr int along_k = kTensorDepth + kTensorPad, across_k = outers + kTensorPad;
  static constexpr int size =
      outers * along_k > kTensorDepth* across_k ? outers* along_k : kTensorDepth* across_k;
  static constexpr int groups = outers * kTensorDepth / 8 / threads;
  static constexpr int threads_along_k = kTensorDepth / 8, threads_across_k = outers / 8;
  static_assert(groups * threads * 8 == outers * kTensorDepth);
  static_assert(threads % threads_along_k == 0 && threads % threads_across_k == 0);

  static constexpr bool copied = way != TensorWay::element_by_element;
  // Whether neighbours in memory have neighbouring k.
  static __device__ __forceinline__ bool along(const GemmSource& source) {
    return copied ? way == TensorWay::copied_along_k : source.k_fast;
  }

  static __device__ __forceinline__ int place(bool k_fast, int outer, int k) {
    return k_fast ? outer * along_k + k : k * across_k + outer;
  }

  const T* at;                     // the first group's of the step to come, if they are copied as vectors
  std::int64_t to_group, to_step;  // how far it is to the next group, and to the next step's
  int outer, k;                    // where the first group lies in the tile
  int first_place, group_places;   // and in shared memory, and how far it is there to the next one
  int outers_left;                 // that the matrix has from the tile's first one on

  __device__ __forceinline__ TensorStage(const GemmSource& source, const T* from, std::int64_t first,
                                         std::int64_t k_first, std::int64_t end) {
    constexpr int group_outers = threads / threads_along_k, group_terms = threads / threads_across_k;
    const int thread = static_cast<int>(threadIdx.x);
    const bool k_fast = along(source);
    outer = k_fast ? thread / threads_along_k : thread % threads_across_k * 8;
    k = k_fast ? thread % threads_along_k * 8 : thread / threads_across_k;
    first_place = place(k_fast, outer, k);
    group_places = k_fast ? place(true, group_outers, 0) : place(false, 0, group_terms);
    outers_left = end - first < outers ? static_cast<int>(end - first) : outers;
    at = from + (first + outer) * source.outer_stride + (k_first + k) * source.k_stride;
    to_group = k_fast ? group_outers * source.outer_stride : group_terms * source.k_stride;
    to_step = kTensorDepth * source.k_stride;
  }

  // Copies the terms from k_first on and goes on to the next step.
  __device__ __forceinline__ void fetch(const GemmSource& source, const T* from, T* shared,
                                        std::int64_t first, std::int64_t k_first, std::int64_t end,
                                        std::int64_t k_end) {
    const int terms = k_end - k_first < kTensorDepth ? static_cast<int>(k_end - k_first) : kTensorDepth;
    const bool k_fast = along(source);
    T* const to = shared + first_place;
    const auto outer_of = [&](int g) { return outer + (k_fast ? g * (threads / threads_along_k) : 0); };
    const auto k_of = [&](int g) { return k + (k_fast ? 0 : g * (threads / threads_across_k)); };
    if ((copied || source.vectors) && outers_left == outers && terms == kTensorDepth) {
      ASSAY_UNROLL
      for (int g = 0; g < groups; ++g) copy_async(to + g * group_places, at + g * to_group, 16);
    } else if (copied || source.vectors) {
      ASSAY_ROLLED
      for (int g = 0; g < groups; ++g) {
        const int o = outer_of(g), p = k_of(g);
        // 8 at a time or fewer at the ends, which are whole 16 bytes of memory but for those of the matrix.
        const int left = k_fast ? (o < outers_left ? terms - p : 0) : (p < terms ? outers_left - o : 0);
        const int bytes = left >= 8 ? 16 : left <= 0 ? 0 : left * 2;
        copy_async(to + g * group_places, bytes == 0 ? from : at + g * to_group, bytes);
      }
    } else if constexpr (!copied) {
      ASSAY_ROLLED
      for (int g = 0; g < groups; ++g) {
        Vector<T> v;
        source.row(from, first + outer_of(g), k_first + k_of(g), end, k_end, v.element);
        store_vector(to + g * group_places, v);
      }
    }
    at += to_step;
  }
};

// Budget: 250 registers, 8 bytes spilled, 3.14 sectors, 1.00 passes.
template <class T, class Tile, TensorWay way_of_a, TensorWay way_of_b>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks_at_once)
    gemm_tensor_kernel(GemmSource a, GemmSource b, GemmGrid grid, GemmSink<T> sink, float* sums) {
  using A = TensorStage<T, way_of_a, Tile::tile_rows, Tile::threads>;
  using B = TensorStage<T, way_of_b, Tile::tile_columns, Tile::threads>;
  constexpr int m = Tile::warp_rows / 16, n = Tile::warp_columns / 8;
  static_assert(n % 2 == 0);
  ASSAY_SHARED_DYNAMIC(T, buffer);

  const GemmGrid::Part part = grid.part(Tile::tile_rows, Tile::tile_columns);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row_at = warp / Tile::warps_across * Tile::warp_rows;
  const int column_at = warp % Tile::warps_across * Tile::warp_columns;
  const T* const a_from = static_cast<const T*>(a.data) + part.batch * a.batch_stride;
  const T* const b_from = static_cast<const T*>(b.data) + part.batch * b.batch_stride;
  const auto steps = static_cast<int>((part.end - part.begin + kTensorDepth - 1) / kTensorDepth);
  A stage_a(a, a_from, part.row, part.begin, grid.rows);
  B stage_b(b, b_from, part.column, part.begin, grid.columns);
  // Starts on its way what a step multiplies: a group of copies, which is empty after the last step.
  const auto fetch_terms = [&](int step, int into) {
    if (step < steps) {
      const std::int64_t k = part.begin + static_cast<std::int64_t>(step) * kTensorDepth;
      T* const to = buffer + into * (A::size + B::size);
      stage_a.fetch(a, a_from, to, part.row, k, grid.rows, part.end);
      stage_b.fetch(b, b_from, to + A::size, part.column, k, grid.columns, part.end);
    }
    end_copies();
  };

  float sum[m][n][4] = {}, total[m][n][4] = {};
  // A part begins with a chunk.
  const auto steps_of_chunk = static_cast<int>(grid.chunk / kTensorDepth);
  int here = 0, left_of_chunk = steps_of_chunk;
  std::int64_t chunk = part.begin / grid.chunk;
  for (int s = 0; s < kStages - 1; ++s) fetch_terms(s, s);
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // everyone's copies have arrived, and everyone is done with the buffer that comes next
    fetch_terms(step + kStages - 1, here == 0 ? kStages - 1 : here - 1);
    const T* const a_here = buffer + here * (A::size + B::size);
    const T* const b_here = a_here + A::size;
    here = here + 1 == kStages ? 0 : here + 1;
    ASSAY_UNROLL
    for (int k = 0; k < kTensorDepth; k += 16) {
      unsigned x[m][4], y[n / 2][4];
      // Lane i gives row i % 8 of matrix i / 8; matrices go down, then along k.
      ASSAY_UNROLL
      for (int i = 0; i < m; ++i) {
        const int row = row_at + i * 16;
        if (A::along(a))
          load_matrices(x[i], a_here + A::place(true, row + lane % 16, k + lane / 16 * 8));
        else
          load_matrices_transposed(
              x[i], a_here + A::place(false, row + lane / 8 % 2 * 8, k + lane / 16 * 8 + lane % 8));
      }
      // Matrices go along k, then to the next eight columns.
      ASSAY_UNROLL
      for (int j = 0; j < n / 2; ++j) {
        const int column = column_at + j * 16;
        if (B::along(b))
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
    if (--left_of_chunk != 0 && step + 1 < steps) continue;
    const std::int64_t chunks = (grid.depth + grid.chunk - 1) / grid.chunk;
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
        total[i][j][e] = chunk == 0 ? sum[i][j][e] : total[i][j][e] + sum[i][j][e];
      }
      sum[i][j][e] = 0;
    }
    left_of_chunk = steps_of_chunk;
    ++chunk;
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
