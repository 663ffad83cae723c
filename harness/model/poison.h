// Patterns that memory holds before a kernel writes it. Those of the two runs differ in every byte; all are NaN in every floating
// format, and numbers far out of any range of indices. Outputs have one of their own, and so have the surroundings of
// each of the first inputs: arithmetic keeps a NaN's payload, and what was read beside an input is not taken for what
// the kernel did not write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "vocabulary/dtype.h"

namespace assay {

// The two runs of each call, and its repeats placed and poisoned like the second.
enum class Run : std::uint8_t { a, b, repeats };
constexpr char letter(Run run) { return run == Run::a ? 'A' : run == Run::b ? 'B' : 'C'; }

// The pattern of 16 bits that repeats over an output's memory: its low byte lies at even addresses.
constexpr std::uint16_t poison(Dtype dtype, Run run) {
  // f8e4m3 has only two NaNs, 7f and ff; neither byte alone makes a NaN of the wider formats.
  if (bytes(dtype) == 1) return run == Run::a ? 0xFFFF : 0x7F7F;
  return run == Run::a ? 0xFFFB : 0x7FFD;
}
// The one around the n-th input, counted from 0.
constexpr std::uint16_t poison_beside(std::size_t n, Dtype dtype, Run run) {
  constexpr std::array<std::array<std::uint16_t, 2>, 5> kWide{
      {{0xFFFE, 0x7FF9}, {0xFFFC, 0x7FFA}, {0xFFFA, 0x7FFE}, {0xFFF9, 0x7FFF}, {0xFFF8, 0x7FFC}}};
  constexpr std::array<std::array<std::uint16_t, 2>, 3> kBytes{
      {{0xFDFD, 0x7B7B}, {0xFBFB, 0x7D7D}, {0xF7F7, 0x7E7E}}};
  if (bytes(dtype) == 1 && is_float(dtype)) return poison(dtype, run);
  const std::size_t which = run == Run::b ? 1 : 0;
  return bytes(dtype) == 1 ? kBytes[n % kBytes.size()][which] : kWide[n % kWide.size()][which];
}
// Small numbers in every dtype, in place of poison: a result that changes with it has been computed from it.
constexpr std::uint16_t finite_pattern(Dtype dtype) { return bytes(dtype) == 1 ? 0x0101 : 0x3C00; }
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
