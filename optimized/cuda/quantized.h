// Rows of u8 numbers times rows of i8 weights, in integers: what products of quantised tensors share.
//
// The idea: sum (x - zx)(w - zw) = sum x' w - zx' sum w - zw sum x' + K zx' zw with x' = x - 128 and zx' = zx - 128, so
// that both are signed bytes, four of which dp4a multiplies at once. A block has a tile of 64 x 64 results and passes 64
// terms at a time through shared memory, as words of four neighbouring terms; the sums of x' and w are taken there, too.
// Products are at most 2^14, so sums of kQuantizedChunk of them fit 32 bits; they are put together in 64. All of that is
// exact. What is rounded is the factor, the product of the sum as f32 with it, and the result, to nearest even before the
// zero point is added.
#pragma once

#include "gemm_operand.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kQuantizedTile = 64;                 // rows and columns
inline constexpr int kQuantizedWords = 16;                // of four terms, at a time
inline constexpr int kQuantizedEach = 4;                  // rows and columns of a thread
inline constexpr std::int64_t kQuantizedChunk = 1 << 16;  // terms
inline constexpr int kQuantizedThreads = 256;
inline constexpr int kQuantizedStride = kQuantizedTile + 4;  // words between rows of shared memory

struct QuantizedProduct {
  GemmSource x, w;  // rows of u8 and i8
  std::int64_t rows, columns, terms;
  std::uint32_t row_tiles, column_tiles;
  const float* scale;  // strides are 0 where one is for all columns
  const std::int32_t* zero_point;
  const std::int32_t* bias;  // or null
  std::int64_t scale_stride, zero_point_stride, bias_stride;
  float input_scale, output_scale;
  std::int64_t input_zero_point, output_zero_point;
  std::uint8_t* out;
  std::int64_t row_stride, column_stride, batch_stride;  // a batch has columns of its own
  const std::int64_t* row_offsets;                       // for the stride of rows, or null

  // Scales and zero points have one element, or one for each column of all batches.
  void set_columns(const View& scales, const View& zero_points, const View* biases) {
    scale = scales.as<const float>();
    scale_stride = scales.size(0) == 1 ? 0 : scales.stride(0);
    zero_point = zero_points.as<const std::int32_t>();
    zero_point_stride = zero_points.size(0) == 1 ? 0 : zero_points.stride(0);
    bias = biases == nullptr ? nullptr : biases->as<const std::int32_t>();
    bias_stride = biases == nullptr ? 0 : biases->stride(0);
  }
};

// Four neighbouring terms as a word, x less 128; beyond the ends 0, and `outside` (of the terms' type) around an image.
template <bool unsigned_bytes>
__device__ __forceinline__ std::uint32_t quantized_word(const GemmSource& source, const std::uint8_t* from,
                                                        std::int64_t outer, std::int64_t k,
                                                        std::int64_t outer_end, std::int64_t k_end,
                                                        std::uint8_t outside) {
  constexpr std::uint32_t flip = unsigned_bytes ? 128 : 0;
  std::uint32_t word = 0;
  if (outer >= outer_end) return 0;
  ASSAY_UNROLL
  for (int j = 0; j < 4; ++j)
    if (k + j < k_end)
      word |= (static_cast<std::uint32_t>(source.element_or(from, outer, k + j, outside)) ^ flip) << 8 * j;
  return word;
}

// Words of 64 rows: a thread fetches four words of one of them, or one word of four.
template <bool unsigned_bytes>
__device__ __forceinline__ void quantized_fetch(const GemmSource& source, const std::uint8_t* from,
                                                std::int64_t first, std::int64_t k, std::int64_t outer_end,
                                                std::int64_t k_end, std::uint8_t outside,
                                                std::uint32_t* shared) {
  constexpr std::uint32_t flip = unsigned_bytes ? 0x80808080u : 0;
  const int thread = static_cast<int>(threadIdx.x);
  if (source.vectors && source.k_fast) {
    const int outer = thread / 4, word = thread % 4 * 4;
    const std::int64_t o = first + outer, p = k + word * 4;
    if (o < outer_end && p + 16 <= k_end) {
      const Vector<std::uint32_t> v =
          load_vector(reinterpret_cast<const std::uint32_t*>(from + o * source.outer_stride + p));
      ASSAY_UNROLL
      for (int j = 0; j < 4; ++j) shared[(word + j) * kQuantizedStride + outer] = v.element[j] ^ flip;
      return;
    }
    ASSAY_UNROLL
    for (int j = 0; j < 4; ++j)
      shared[(word + j) * kQuantizedStride + outer] =
          quantized_word<unsigned_bytes>(source, from, o, p + 4 * j, outer_end, k_end, outside);
    return;
  }
  const int outer = thread % kQuantizedTile, word = thread / kQuantizedTile * 4;
  ASSAY_UNROLL
  for (int j = 0; j < 4; ++j)
    shared[(word + j) * kQuantizedStride + outer] = quantized_word<unsigned_bytes>(
        source, from, first + outer, k + (word + j) * 4, outer_end, k_end, outside);
}

__device__ inline std::uint8_t requantized(std::int64_t total, float factor, std::int64_t zero_point) {
  float steps = static_cast<float>(total) * factor;
  steps = steps > -1024.0f ? steps : -1024.0f;  // NaN, too
  steps = steps < 1024.0f ? steps : 1024.0f;
  const std::int64_t q = static_cast<std::int64_t>(rintf(steps)) + zero_point;
  return static_cast<std::uint8_t>(q < 0 ? 0 : q > 255 ? 255 : q);
}

// Where the sum of a row or a column lies. Neighbouring threads write sums of neighbours and read those of every fourth:
// neither meets in a bank, of which there are 16 for 64 bits.
inline constexpr int kQuantizedSumStride = kQuantizedTile / kQuantizedEach + 4;
inline constexpr int kQuantizedSums = kQuantizedEach * kQuantizedSumStride;
__device__ __forceinline__ int quantized_sum_place(int outer) {
  return outer % kQuantizedEach * kQuantizedSumStride + outer / kQuantizedEach;
}

struct alignas(16) QuantizedBuffers {
  std::uint32_t x[kQuantizedWords * kQuantizedStride], w[kQuantizedWords * kQuantizedStride];
};

// rows_fast: rows are neighbours in the output.
// Budget: 146 registers, 5.84 sectors, 1.03 passes.
template <bool rows_fast>
__global__ void __launch_bounds__(kQuantizedThreads, 1) quantized_product_kernel(QuantizedProduct q) {
  constexpr int each = kQuantizedEach;
  ASSAY_SHARED(QuantizedBuffers, buffer, );
  ASSAY_SHARED(std::int64_t, sums, [2 * kQuantizedSums]);  // of x' for rows, of w for columns
  std::uint32_t block = blockIdx.x;
  const std::int64_t row = static_cast<std::int64_t>(block % q.row_tiles) * kQuantizedTile;
  block /= q.row_tiles;
  const std::int64_t column = static_cast<std::int64_t>(block % q.column_tiles) * kQuantizedTile;
  const std::int64_t batch = block / q.column_tiles;
  const auto* const x_from = static_cast<const std::uint8_t*>(q.x.data) + batch * q.x.batch_stride;
  const auto* const w_from = static_cast<const std::uint8_t*>(q.w.data) + batch * q.w.batch_stride;
  const int thread = static_cast<int>(threadIdx.x);
  // Neighbouring threads write neighbours.
  const int row_at = (rows_fast ? thread % 16 : thread / 16) * each;
  const int column_at = (rows_fast ? thread / 16 : thread % 16) * each;
  const auto around = static_cast<std::uint8_t>(q.input_zero_point);

  std::int64_t total[each][each] = {}, own_total = 0;
  std::int32_t sum[each][each] = {};
  for (std::int64_t k = 0; k < q.terms; k += kQuantizedWords * 4) {
    quantized_fetch<true>(q.x, x_from, row, k, q.rows, q.terms, around, buffer.x);
    quantized_fetch<false>(q.w, w_from, column, k, q.columns, q.terms, 0, buffer.w);
    __syncthreads();
    ASSAY_UNROLL
    for (int word = 0; word < kQuantizedWords; ++word) {
      const Vector<std::uint32_t> x = load_vector(buffer.x + word * kQuantizedStride + row_at);
      const Vector<std::uint32_t> w = load_vector(buffer.w + word * kQuantizedStride + column_at);
      ASSAY_UNROLL
      for (int i = 0; i < each; ++i) ASSAY_UNROLL
      for (int j = 0; j < each; ++j)
        sum[i][j] = __dp4a(static_cast<int>(x.element[i]), static_cast<int>(w.element[j]), sum[i][j]);
    }
    if (thread < 2 * kQuantizedTile) {
      const std::uint32_t* const own =
          thread < kQuantizedTile ? buffer.x + thread : buffer.w + thread - kQuantizedTile;
      std::int32_t here = 0;
      for (int word = 0; word < kQuantizedWords; ++word)
        here = __dp4a(static_cast<int>(own[word * kQuantizedStride]), 0x01010101, here);
      own_total += here;
    }
    __syncthreads();
    if ((k + kQuantizedWords * 4) % kQuantizedChunk != 0 && k + kQuantizedWords * 4 < q.terms) continue;
    ASSAY_UNROLL
    for (int i = 0; i < each; ++i) ASSAY_UNROLL
    for (int j = 0; j < each; ++j) {
      total[i][j] += sum[i][j];
      sum[i][j] = 0;
    }
  }
  if (thread < 2 * kQuantizedTile)
    sums[thread / kQuantizedTile * kQuantizedSums + quantized_sum_place(thread % kQuantizedTile)] = own_total;
  __syncthreads();
  const std::int64_t zero_of_x = q.input_zero_point - 128;
  ASSAY_UNROLL
  for (int j = 0; j < each; ++j) {
    const std::int64_t c = column + column_at + j;
    if (c >= q.columns) continue;
    const std::int64_t channel = batch * q.columns + c,
                       zero_of_w = q.zero_point[channel * q.zero_point_stride];
    const float factor = q.input_scale * q.scale[channel * q.scale_stride] / q.output_scale;
    const std::int64_t more = (q.bias == nullptr ? 0 : q.bias[channel * q.bias_stride]) +
                              q.terms * zero_of_x * zero_of_w -
                              zero_of_x * sums[kQuantizedSums + quantized_sum_place(column_at + j)];
    ASSAY_UNROLL
    for (int i = 0; i < each; ++i) {
      const std::int64_t r = row + row_at + i;
      if (r >= q.rows) continue;
      q.out[batch * q.batch_stride + (q.row_offsets == nullptr ? r * q.row_stride : q.row_offsets[r]) +
            c * q.column_stride] =
          requantized(total[i][j] + more - zero_of_w * sums[quantized_sum_place(row_at + i)], factor,
                      q.output_zero_point);
    }
  }
}

// Sets the tiles and what belongs to columns, and launches.
inline void multiply_quantized(QuantizedProduct q, std::int64_t batches, bool rows_fast, const View& scale,
                               const View& zero_point, const View* bias) {
  if (q.rows == 0 || q.columns == 0 || batches == 0) return;
  q.set_columns(scale, zero_point, bias);
  const std::int64_t row_tiles = (q.rows + kQuantizedTile - 1) / kQuantizedTile;
  const std::int64_t column_tiles = (q.columns + kQuantizedTile - 1) / kQuantizedTile;
  if (row_tiles * column_tiles * batches > 0x7fffffff)
    throw Refused("products of more than 2^31 tiles are not supported");
  q.row_tiles = static_cast<std::uint32_t>(row_tiles);
  q.column_tiles = static_cast<std::uint32_t>(column_tiles);
  const dim3 blocks(static_cast<unsigned>(row_tiles * column_tiles * batches));
  if (rows_fast)
    launch<quantized_product_kernel<true>>(blocks, kQuantizedThreads, 0, q);
  else
    launch<quantized_product_kernel<false>>(blocks, kQuantizedThreads, 0, q);
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
