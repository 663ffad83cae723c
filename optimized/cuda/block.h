// What the threads of a warp, or of a block, hold, combined: by shuffles, and across warps in shared memory.
//
// `op.combine(a, b)` need not be associative: the order is fixed by the number of threads. It need not be commutative in
// bits either, as merging moments is not, if only thread 0's result is used.
#pragma once

#include "call.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr unsigned kAllLanes = 0xffffffffu;

// The value of the lane whose number differs in the bits of `with`. A struct says by shuffled(with) how it is handed on.
template <class S>
__device__ __forceinline__ S shuffled(const S& value, int with) {
  if constexpr (std::is_arithmetic_v<S>)
    return __shfl_xor_sync(kAllLanes, value, with);
  else
    return value.shuffled(with);
}

// Of `lanes` neighbours, a power of two up to 32, first those that are far apart. All lanes of the warp come here.
template <class Op, class S>
__device__ __forceinline__ S warp_combined(const Op& op, S value, int lanes = kWarpSize) {
  for (int with = lanes / 2; with > 0; with /= 2) value = op.combine(value, shuffled(value, with));
  return value;
}

// Of `threads` neighbours in x, which are part of a warp, or else a whole block of one dimension. All threads come here, and
// all of the group get the result.
template <class Op, class S>
__device__ __forceinline__ S group_combined(const Op& op, S value, int threads) {
  value = warp_combined(op, value, threads < kWarpSize ? threads : kWarpSize);
  if (threads <= kWarpSize) return value;
  ASSAY_SHARED(S, of_warp, [kWarpSize]);
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize,
            warp = static_cast<int>(threadIdx.x) / kWarpSize;
  __syncthreads();  // what an earlier call left has been read
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = lane * kWarpSize < threads ? of_warp[lane] : op.template identity<S>();
  return warp_combined(op, value);
}

struct Addition {
  template <class C>
  __device__ C identity() const {
    return C(0);
  }
  template <class C>
  __device__ C combine(C a, C b) const {
    return wrapping_sum(a, b);
  }
};

// A NaN is dropped, or not: for those whose result is NaN then anyway.
struct Larger {
  template <class C>
  __device__ C identity() const {
    return -static_cast<C>(INFINITY);
  }
  template <class C>
  __device__ C combine(C a, C b) const {
    return a > b ? a : b;
  }
};

// The smallest power of two that is not below x, at least 1.
inline std::int64_t power_of_two(std::int64_t x) {
  std::int64_t p = 1;
  while (p < x) p *= 2;
  return p;
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
