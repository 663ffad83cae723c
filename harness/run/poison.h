// Patterns that memory holds before a kernel writes it. The two differ in every byte; both are NaN in every floating
// format, and numbers far out of any range of indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vocabulary/dtype.h"

namespace assay {

// The two runs of each call.
enum class Run : std::uint8_t { a, b };
constexpr char letter(Run run) { return run == Run::a ? 'A' : 'B'; }

// The pattern of 16 bits that repeats over memory: its low byte lies at even addresses.
constexpr std::uint16_t poison(Dtype dtype, Run run) {
  // f8e4m3 has only two NaNs, 7f and ff; neither byte alone makes a NaN of the wider formats.
  if (bytes(dtype) == 1) return run == Run::a ? 0xFFFF : 0x7F7F;
  return run == Run::a ? 0xFFFB : 0x7FFD;
}
inline std::byte poison_byte(const std::byte* at, std::uint16_t pattern) {
  return static_cast<std::byte>((reinterpret_cast<std::uintptr_t>(at) & 1) != 0 ? pattern >> 8
                                                                                : pattern & 0xFF);
}

void fill_poison(std::byte* at, std::size_t n, std::uint16_t pattern);

// The first byte that does not hold the pattern, or n.
std::size_t first_unpoisoned(const std::byte* at, std::size_t n, std::uint16_t pattern);

// The first of n packed elements that is poison in both runs, or n: the kernel did not write it.
std::size_t first_unwritten(const std::byte* a, const std::byte* b, std::size_t n, Dtype dtype);
std::size_t count_unwritten(const std::byte* a, const std::byte* b, std::size_t n, Dtype dtype);

}  // namespace assay
