// Integers as kernels compute them: in 64 bits that wrap, as two's complement does. The low bits of sums and products are
// those of any narrower dtype, so that one piece of code serves all of them.
#pragma once

#include <cstdint>

#include "vocabulary/dtype.h"

namespace assay::cpu {

// Of signed integers an overflow is undefined; of unsigned ones it wraps.
constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Towards zero; -INT64_MIN wraps, where the processor would trap. b is not 0.
constexpr std::int64_t wrapping_divide(std::int64_t a, std::int64_t b) {
  return b == -1 ? wrapping_multiply(a, -1) : a / b;
}
// a - b trunc(a / b). b is not 0.
constexpr std::int64_t wrapping_rest(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a % b; }
// a^n; a negative power of anything but 1 and -1 is 0.
constexpr std::int64_t wrapping_power(std::int64_t a, std::int64_t n) {
  if (n < 0) return a == 1 || (a == -1 && (n & 1) == 0) ? 1 : a == -1 ? -1 : 0;
  std::int64_t power = 1;
  for (; n != 0; n >>= 1, a = wrapping_multiply(a, a))
    if ((n & 1) != 0) power = wrapping_multiply(power, a);
  return power;
}
// The low bits of x, as a number of that dtype.
inline std::int64_t wrapped_to(Dtype dtype, std::int64_t x) {
  std::int64_t memory = 0;
  store_integer(&memory, dtype, x);
  return load_integer(&memory, dtype);
}

// x as a number of that dtype, rounded once, to nearest even.
inline double rounded_to(Dtype dtype, double x) { return round_to(x, format(dtype)); }

}  // namespace assay::cpu
