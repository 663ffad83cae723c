// Integers as kernels compute them: in 64 bits that wrap (cpu/wrap.h, for the device).
#pragma once

#include <type_traits>

#include "device.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

__host__ __device__ constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
// A sum of any compute type: integers wrap.
template <class C>
__device__ __forceinline__ C wrapping_sum(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return wrapping_add(a, b);
  else
    return a + b;
}
__host__ __device__ constexpr std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Towards zero; -INT64_MIN wraps, where a processor would trap. b is not 0.
__host__ __device__ constexpr std::int64_t wrapping_divide(std::int64_t a, std::int64_t b) {
  return b == -1 ? wrapping_multiply(a, -1) : a / b;
}

// a - b trunc(a / b). b is not 0.
__host__ __device__ constexpr std::int64_t wrapping_rest(std::int64_t a, std::int64_t b) {
  return b == -1 ? 0 : a % b;
}
// a^n; a negative power of anything but 1 and -1 is 0.
__host__ __device__ constexpr std::int64_t wrapping_power(std::int64_t a, std::int64_t n) {
  if (n < 0) return a == 1 || (a == -1 && (n & 1) == 0) ? 1 : a == -1 ? -1 : 0;
  std::int64_t power = 1;
  for (; n != 0; n >>= 1, a = wrapping_multiply(a, a))
    if ((n & 1) != 0) power = wrapping_multiply(power, a);
  return power;
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
