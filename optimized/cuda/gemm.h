// Matrix products on the device: out = alpha a b + beta addend, for any strides, a stack of them at a time; and the same
// of matrices that are only looked up, as the windows of a convolution are (gemm.cu).
//
// The order of accumulation: k runs upwards through a chunk of terms, 256 or more of deep sums (gemm_chunk()), and the chunks' sums are added in order. That
// depends on k alone: not on the tile that an element falls into, on strides, on other sizes, nor on how many blocks
// share a sum, so that rows are independent bit for bit.
//   f64, f32: one fma() a term. A term passes at most as many additions as a chunk has, and one more for each chunk.
//   f16, bf16: tensor cores, which cut sums off where others round them (PTX ISA leaves it open). Every chunk starts at 0,
//   so that this adds up over a chunk only; the chunks' sums are added in f32, rounded to nearest.
//   integers: unsigned numbers of 32 or 64 bits that wrap, whose low bits are the same.
// alpha and the addend, one more term, come last, and the result is rounded once.
#pragma once

#include <array>

#include "device.h"
#include "vocabulary/dtype.h"
#include "vocabulary/kernel.h"

#define ASSAY_CUDA_GEMM_CONTRACT \
  "chain=blocked(512) -- optimized/cuda/gemm.h: sums of chunks, then their sum\n"         \
  "f16,bf16: addition=cut_off(16) -- optimized/cuda/mma.h: a tensor core's sums of 16 products, and what there was before"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Terms of a chunk: as many as keep sums of n terms within n / 512 + 512 additions, so that there are not too many chunks.
inline std::int64_t gemm_chunk(std::int64_t depth) {
  std::int64_t chunk = 256;
  while (2 * chunk + depth / (2 * chunk) < depth / 512 + 512) chunk *= 2;
  return chunk;
}

// Where a row, or a column, of a matrix that is looked up lies: element (i, k) is the one at i.offset + k.offset, or 0
// unless the sums of their coordinates lie within the image.
inline constexpr int kGemmDims = 3;
struct GemmPlace {
  std::int64_t offset;
  std::int32_t at[kGemmDims];
};

// One side of a product: `outer` counts rows of a, columns of b. Strides count elements.
struct GemmOperand {
  const void* data;
  std::int64_t outer_stride, k_stride;
  std::int64_t batch_stride = 0;
  // If these are given, strides but that of the batch mean nothing. Which of them runs through memory faster is said.
  const GemmPlace* outer_places = nullptr;
  const GemmPlace* k_places = nullptr;
  std::int32_t size[kGemmDims] = {1, 1, 1};
  bool k_fast = false;

  bool looked_up() const { return outer_places != nullptr; }
};

// The output, and what is added.
struct GemmResult {
  void* data;
  std::int64_t row_stride, column_stride;
  std::int64_t batch_stride = 0;
  const std::int64_t* column_offsets = nullptr;  // of each column, for its stride
  const void* addend = nullptr;                  // of the output's dtype; strides 0 where it repeats
  std::int64_t addend_row_stride = 0, addend_column_stride = 0, addend_batch_stride = 0;
  Scalar alpha{1, 1, true}, beta{1, 1, true};
};

struct GemmSizes {
  std::int64_t rows, columns, depth, batches = 1;
};

// Launches the product; all are of dtype `type`. Without terms the sum is 0.
void gemm(Dtype type, const GemmSizes& sizes, const GemmOperand& a, const GemmOperand& b,
          const GemmResult& out);

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
