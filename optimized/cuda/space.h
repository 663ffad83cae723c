// Index spaces as kernels take them: of elements of several tensors, in any strides.
#pragma once

#include "cpu/space.h"
#include "device.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// The space of cpu/space.h by value, as an argument of a kernel; dimension 0 is the innermost.
template <int operands>
struct Space {
  std::int32_t rank;
  std::int64_t count;
  std::int64_t size[cpu::kMaxRank];
  std::int64_t stride[operands][cpu::kMaxRank];

  Space() = default;
  explicit Space(const cpu::Space& space) : rank(space.rank), count(space.count) {
    for (int d = 0; d < rank; ++d) {
      const auto at = static_cast<std::size_t>(d);
      size[d] = space.size[at];
      for (int k = 0; k < operands; ++k) stride[k][d] = space.stride[static_cast<std::size_t>(k)][at];
    }
  }

  // Where element `i` lies in each tensor. Dimensions below `first` are left out: `i` counts rows then.
  __device__ void locate(std::int64_t i, std::int64_t (&offset)[operands], int first = 0) const {
    for (int k = 0; k < operands; ++k) offset[k] = 0;
    for (int d = first; d < rank; ++d) {
      std::int64_t index = i, rest = 0;
      if (d + 1 < rank) {
        // Of 64-bit numbers a division takes several times as long.
        if (i < (std::int64_t{1} << 32) && size[d] < (std::int64_t{1} << 32))
          rest = static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(size[d]);
        else
          rest = i / size[d];
        index = i - rest * size[d];
      }
      for (int k = 0; k < operands; ++k) offset[k] += index * stride[k][d];
      i = rest;
    }
  }
};

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
