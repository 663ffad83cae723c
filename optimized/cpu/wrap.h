// Integers as kernels compute them: in 64 bits that wrap, as two's complement does. The low bits of sums and products are
// those of any narrower dtype, so that one piece of code serves all of them.
#pragma once

#include <cstdint>

namespace assay::cpu {

// Of signed integers an overflow is undefined; of unsigned ones it wraps.
constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace assay::cpu
