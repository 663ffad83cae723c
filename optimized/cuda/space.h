// Index spaces as kernels take them: of elements of several tensors, in any strides.
#pragma once

#include <bit>
#include <utility>

#include "device.h"
#include "geometry/space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Division by a number that the host knows: a multiplication, an addition and a shift instead of some twenty
// instructions (Granlund and Montgomery 1994, figure 4.1). For any x, and divisors from 1 to 2^31.
struct Divisor {
  std::uint32_t factor, shift;  // of 2^32 + factor

  Divisor() = default;
  explicit Divisor(std::uint32_t by) : shift(static_cast<std::uint32_t>(std::bit_width(by - 1))) {
    factor =
        static_cast<std::uint32_t>(((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by)) / by + 1);
  }
  __device__ __forceinline__ std::uint32_t quotient(std::uint32_t x) const {
    const std::uint64_t high = (static_cast<std::uint64_t>(x) * factor) >> 32;
    return static_cast<std::uint32_t>((high + x) >> shift);
  }
};

// The space of cpu/space.h by value, as an argument of a kernel; dimension 0 is the innermost.
template <int operands>
struct Space {
  std::int32_t rank;
  bool narrow;  // positions fit 32 bits
  std::int64_t count;
  std::int64_t size[cpu::kMaxRank];
  std::int64_t stride[operands][cpu::kMaxRank];
  Divisor by_size[cpu::kMaxRank];  // where it is narrow

  Space() = default;
  // With `width` elements of dimension 0 as one, the last one perhaps fewer. Precondition: a whole number, or
  // rank 1.
  explicit Space(const cpu::Space& space, int width = 1) : rank(space.rank), count(1) {
    for (int d = 0; d < rank; ++d) {
      const auto at = static_cast<std::size_t>(d);
      const int joined = d == 0 ? width : 1;
      size[d] = (space.size[at] + joined - 1) / joined;
      count *= size[d];
      for (int k = 0; k < operands; ++k)
        stride[k][d] = space.stride[static_cast<std::size_t>(k)][at] * joined;
    }
    narrow = count > 0 && count <= std::int64_t{1} << 31;
    for (int d = 0; narrow && d < rank; ++d) by_size[d] = Divisor(static_cast<std::uint32_t>(size[d]));
  }

  // Where element `i` lies in each tensor. Dimensions below `first` are left out: `i` counts rows then. As a loop that stays
  // one: kernels have this in many places, for tensors of few dimensions.
  __device__ void locate(std::int64_t i, std::int64_t (&offset)[operands], int first = 0) const {
    for (int k = 0; k < operands; ++k) offset[k] = 0;
    int d = first;
    ASSAY_ROLLED
    for (; d + 1 < rank; ++d) {
      const std::int64_t rest = narrow ? by_size[d].quotient(static_cast<std::uint32_t>(i)) : i / size[d];
      move(offset, i - rest * size[d], d, std::make_index_sequence<operands>{});
      i = rest;
    }
    if (d < rank) move(offset, i, d, std::make_index_sequence<operands>{});
  }

 private:
  // Not a loop, for nvcc unrolls what is around one.
  template <std::size_t... k>
  __device__ __forceinline__ void move(std::int64_t (&offset)[operands], std::int64_t by, int d,
                                       std::index_sequence<k...>) const {
    ((offset[k] += by * stride[k][d]), ...);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
