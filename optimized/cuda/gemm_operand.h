// What the two kernels of gemm.cu share: how they read elements, which tile a block has, and what becomes of a sum.
#pragma once

#include <algorithm>

#include "call.h"
#include "element.h"
#include "gemm.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// What sums of products are kept in.
template <class T>
using GemmSum =
    std::conditional_t<is_integer<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>,
                       Compute<T>>;

// x y + z, rounded once, in the format of its arguments.
__device__ __forceinline__ float fused(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double fused(double x, double y, double z) { return fma(x, y, z); }

// An operand as kernels take it.
struct GemmSource {
  const void* data;
  std::int64_t outer_stride, k_stride, batch_stride;
  const GemmPlace* outer_places;
  const GemmPlace* k_places;
  std::int32_t size[kGemmDims];
  bool k_fast;   // neighbours in memory have neighbouring k
  bool vectors;  // 16 bytes that begin at a multiple of 16 bytes of the fast direction are so in memory

  // Element (outer, k) of one batch, whose first element is `from`; it lies in the matrix.
  template <class T>
  __device__ __forceinline__ T element(const T* from, std::int64_t outer, std::int64_t k) const {
    return element_or(from, outer, k, T{});
  }
  // The same, with `outside` around an image.
  template <class T>
  __device__ __forceinline__ T element_or(const T* from, std::int64_t outer, std::int64_t k,
                                          T outside) const {
    if (outer_places == nullptr) return from[outer * outer_stride + k * k_stride];
    const GemmPlace &o = outer_places[outer], &p = k_places[k];
    bool inside = true;
    ASSAY_UNROLL
    for (int d = 0; d < kGemmDims; ++d)
      inside = inside && static_cast<std::uint32_t>(o.at[d] + p.at[d]) < static_cast<std::uint32_t>(size[d]);
    return inside ? from[o.offset + p.offset] : outside;
  }

  // `n` elements along the fast direction from (outer, k); those beyond the ends are 0.
  template <int n, class T>
  __device__ __forceinline__ void row(const T* from, std::int64_t outer, std::int64_t k,
                                      std::int64_t outer_end, std::int64_t k_end, T (&to)[n]) const {
    if constexpr (n % Vector<T>::size == 0) {
      if (vectors && (k_fast ? k + n <= k_end && outer < outer_end : outer + n <= outer_end && k < k_end)) {
        const T* const at = from + outer * outer_stride + k * k_stride;
        ASSAY_UNROLL
        for (int j = 0; j < n; j += Vector<T>::size) {
          const Vector<T> v = load_vector(at + j);
          ASSAY_UNROLL
          for (int i = 0; i < Vector<T>::size; ++i) to[j + i] = v.element[i];
        }
        return;
      }
    }
    ASSAY_UNROLL
    for (int j = 0; j < n; ++j) {
      const std::int64_t o = outer + (k_fast ? 0 : j), p = k + (k_fast ? j : 0);
      to[j] = o < outer_end && p < k_end ? element(from, o, p) : T{};
    }
  }
};

// The operand as kernels take it, elements of `bytes`.
inline GemmSource gemm_source(const GemmOperand& x, int bytes, std::int64_t batches) {
  GemmSource source{x.data, x.outer_stride, x.k_stride, x.batch_stride, x.outer_places, x.k_places,
                    {},     x.k_fast,       false};
  std::copy_n(x.size, kGemmDims, source.size);
  if (x.looked_up()) return source;
  source.k_fast = x.k_stride == 1 && x.outer_stride != 1;
  const std::int64_t width = 16 / bytes, other = source.k_fast ? x.outer_stride : x.k_stride;
  source.vectors = (source.k_fast ? x.k_stride : x.outer_stride) == 1 && other % width == 0 &&
                   (batches == 1 || x.batch_stride % width == 0) &&
                   reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
  return source;
}

// Which part of which product a block has.
struct GemmGrid {
  std::int64_t rows, columns, depth;
  std::uint32_t row_tiles, column_tiles, slices;  // blocks that share a sum
  std::int64_t slice;                             // terms of each: whole chunks
  std::int64_t chunk;

  struct Part {
    std::int64_t row, column, begin, end, batch;
  };
  __device__ __forceinline__ Part part(int tile_rows, int tile_columns) const {
    // Blocks that follow each other share columns of b, the narrower side of tiles.
    std::uint32_t block = blockIdx.x;
    const std::uint32_t tile_row = block % row_tiles;
    block /= row_tiles;
    const std::uint32_t tile_column = block % column_tiles;
    block /= column_tiles;
    const std::int64_t begin = block % slices * slice, end = begin + slice;
    return {static_cast<std::int64_t>(tile_row) * tile_rows,
            static_cast<std::int64_t>(tile_column) * tile_columns, begin, end < depth ? end : depth,
            block / slices};
  }
};

// Where sums go: into the output, or as they are into scratch, [batch][chunk][row][column].
template <class T>
struct GemmSink {
  using C = GemmSum<T>;
  T* data;
  std::int64_t row_stride, column_stride, batch_stride;
  const std::int64_t* column_offsets;
  const T* addend;
  std::int64_t addend_row_stride, addend_column_stride, addend_batch_stride;
  C alpha, beta;

  __device__ __forceinline__ std::int64_t offset(std::int64_t batch, std::int64_t row,
                                                 std::int64_t column) const {
    return batch * batch_stride + row * row_stride +
           (column_offsets == nullptr ? column * column_stride : column_offsets[column]);
  }
  __device__ __forceinline__ T finished(C sum, std::int64_t batch, std::int64_t row,
                                        std::int64_t column) const {
    C y = alpha * sum;  // which is exact where alpha is 1
    if (addend != nullptr) {
      const T more =
          addend[batch * addend_batch_stride + row * addend_row_stride + column * addend_column_stride];
      if constexpr (is_integer<T>)
        y += beta * static_cast<C>(more);
      else
        y = fused(beta, widened(more), y);
    }
    if constexpr (is_integer<T>)
      return static_cast<T>(y);
    else
      return narrowed<T>(y);
  }
  __device__ __forceinline__ void store(C sum, std::int64_t batch, std::int64_t row,
                                        std::int64_t column) const {
    data[offset(batch, row, column)] = finished(sum, batch, row, column);
  }
  // Of n neighbours of a row, of which those from `columns` on are not there.
  template <int n>
  __device__ __forceinline__ void store_row(const C (&sum)[n], std::int64_t batch, std::int64_t row,
                                            std::int64_t column, std::int64_t columns) const {
    constexpr int width = n < Vector<T>::size ? n : Vector<T>::size;
    if constexpr (n % width == 0) {
      T* const to = data + offset(batch, row, column < columns ? column : 0);
      if (column_offsets == nullptr && column_stride == 1 && column + n <= columns &&
          reinterpret_cast<std::uintptr_t>(to) % sizeof(Vector<T, width>) == 0) {
        ASSAY_UNROLL
        for (int j = 0; j < n; j += width) {
          Vector<T, width> v;
          ASSAY_UNROLL
          for (int i = 0; i < width; ++i) v.element[i] = finished(sum[j + i], batch, row, column + j + i);
          store_vector(to + j, v);
        }
        return;
      }
    }
    ASSAY_UNROLL
    for (int j = 0; j < n; ++j)
      if (column + j < columns) store(sum[j], batch, row, column + j);
  }
};

// Adds the chunks' sums in order.
// Budget: 38 registers, 1.69 sectors, 1.09 passes.
template <class T>
__global__ void gemm_chunks_kernel(const GemmSum<T>* sums, std::int64_t chunks, std::int64_t batches,
                                   std::int64_t rows, std::int64_t columns, GemmSink<T> sink) {
  const std::int64_t size = rows * columns;
  for (std::int64_t i = global_thread(); i < batches * size; i += global_threads()) {
    const std::int64_t batch = i / size, at = i - batch * size, row = at / columns;
    GemmSum<T> total = 0;
    for (std::int64_t c = 0; c < chunks; ++c) {
      const GemmSum<T> sum = sums[(batch * chunks + c) * size + at];
      total = c == 0 ? sum : total + sum;
    }
    sink.store(total, batch, row, at - row * columns);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
