// Rows along one dimension and the threads that share each: what softmax and its kin are launched with.
//
// Where a row lies without gaps, its threads are neighbours and take 16 bytes each; where other rows' elements lie between
// its own, neighbouring threads take neighbouring rows and those above each other in a block share one (across), so
// that a warp's accesses are neighbours either way. How many share a row depends on its length and strides.
#pragma once

#include <algorithm>

#include "access.h"
#include "block.h"
#include "geometry/without.h"
#include "reduce_plan.h"
#include "space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kRowThreads = 512;  // of a block, at most
inline constexpr int kRowPieces = 4;     // of 16 bytes, that a thread holds in registers

// The threads of one row, seen by one of them.
struct RowGroup {
  int lane, lanes;
  bool across;  // they stand above each other in the block
  Access access;

  __device__ RowGroup(bool stands, Access how)
      : lane(static_cast<int>(stands ? threadIdx.y : threadIdx.x)),
        lanes(static_cast<int>(stands ? blockDim.y : blockDim.x)),
        across(stands),
        access(how) {}

  // Element v of this thread's piece: pieces are of `width`.
  __device__ std::int64_t element(std::int64_t piece, int v, int width) const {
    return access == Access::strided ? (piece * width + v) * lanes + lane
                                     : (piece * lanes + lane) * width + v;
  }

  // All threads of the block come here, and all of a row get what its threads hold, combined.
  template <class Op, class S>
  __device__ S combined(const Op& op, S value) const {
    if (!across) return group_combined(op, value, lanes);
    ASSAY_SHARED(S, column, [kRowThreads]);
    const unsigned me = threadIdx.y * blockDim.x + threadIdx.x;
    __syncthreads();  // what an earlier call left has been read
    column[me] = value;
    for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.y < half) column[me] = op.combine(column[me], column[me + half * blockDim.x]);
    }
    __syncthreads();
    return column[threadIdx.x];
  }
};

// Rows of several tensors; operand 0 is the output.
template <int operands>
struct Rows {
  Space<operands> rows;
  std::int64_t step[operands];  // along the row
  std::int64_t n;
  bool across;
  Access access;
};

struct RowLaunch {
  dim3 grid, block;
};

// For rows of n elements, taken in so many pieces, whose threads are neighbours.
inline RowLaunch along_rows_of(std::int64_t n, std::int64_t rows, std::int64_t pieces, std::int64_t width) {
  const std::int64_t held = kRowPieces * width;
  const std::int64_t lanes = n <= kWarpSize * held
                                 ? std::min<std::int64_t>(power_of_two(pieces), kWarpSize)
                                 : std::min<std::int64_t>(power_of_two((n + held - 1) / held), kRowThreads);
  const std::int64_t beside = lanes > kWarpSize ? 1 : 128 / lanes;
  return {blocks_for(rows, beside), dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(beside))};
}

// The rows along `dim` of tensors of one shape, whose operand 0 is the output, and how to launch on them.
template <class T, int operands>
RowLaunch plan_rows(Rows<operands>& plan, const View* const* views, std::int64_t dim) {
  constexpr std::int64_t width = Vector<T>::size;
  const View& out = *views[0];
  const int axis = static_cast<int>(dim < 0 ? dim + out.rank() : dim);
  const cpu::Space rows = cpu::space_without(axis, views, operands);
  plan.rows = Space<operands>(rows);
  plan.n = out.rank() == 0 ? 1 : out.size(axis);
  bool dense = plan.n % width == 0 && steps_in_vectors(rows, 0, operands, width, false), aligned = true;
  plan.across = rows.rank > 0;
  for (int k = 0; k < operands; ++k) {
    plan.step[k] = plan.n == 1 ? 1 : views[k]->stride(axis);
    dense = dense && plan.step[k] == 1 && views[k]->type() == dtype_that_is<T>;
    aligned = aligned && reinterpret_cast<std::uintptr_t>(views[k]->data) % 16 == 0;
    plan.across = plan.across && plan.rows.stride[k][0] == 1 && (plan.n == 1 || plan.step[k] != 1);
  }
  plan.access = plan.across || !dense ? Access::strided : aligned ? Access::vectors : Access::pieces;

  if (plan.across) {
    const std::int64_t down = std::min<std::int64_t>(power_of_two((plan.n + 3) / 4), kRowThreads / kWarpSize);
    const std::int64_t beside = std::clamp<std::int64_t>(power_of_two(rows.count), kWarpSize,
                                                         std::max<std::int64_t>(kWarpSize, 128 / down));
    return {blocks_for(rows.count, beside), dim3(static_cast<unsigned>(beside), static_cast<unsigned>(down))};
  }
  return along_rows_of(plan.n, rows.count, plan.access == Access::strided ? plan.n : plan.n / width, width);
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
