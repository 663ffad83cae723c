// Normally distributed numbers without the mathematical library, whose last bits differ between machines.
#pragma once

#include <bit>

#include "random.h"

namespace assay {

// x * 2^exponent as std::ldexp, which is a call, has it. Precondition: 2^exponent is a normal number.
constexpr double scaled(double x, int exponent) {
  return x * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// How many bits are set: std::popcount calls a function where no instruction may be assumed.
constexpr std::uint64_t ones_in(std::uint64_t x) {
  x -= x >> 1 & 0x5555'5555'5555'5555u;
  x = (x & 0x3333'3333'3333'3333u) + (x >> 2 & 0x3333'3333'3333'3333u);
  x = (x + (x >> 4)) & 0x0F0F'0F0F'0F0F'0F0Fu;
  return x * 0x0101'0101'0101'0101u >> 56;
}

// Number i of the stream: mean 0, variance 1. The count of ones in 64 random bits is binomial; the sum of two uniform
// numbers fills the gaps between counts, so that every significand bit is used. The density is within 1% of the
// normal one up to 2 standard deviations and within 7% up to 3; no number is beyond 8.3. (The words 3i to 3i+2 lie after those that families use for choices.)
constexpr double normal(const Stream& s, std::uint64_t i) {
  const std::uint64_t at = (std::uint64_t{1} << 40) + 3 * i;
  const double sum =
      static_cast<double>(static_cast<int>(ones_in(s.word(at)))) + s.unit(at + 1) + s.unit(at + 2) - 33;
  return sum * 0.24870800168690346;  // 1 / sqrt(16 + 2/12)
}

}  // namespace assay
