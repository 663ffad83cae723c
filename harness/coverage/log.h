// What workers write down about the code of kernels that ran, in memory shared with the harness (run/protocol.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace assay {

inline constexpr std::uint32_t kCoveredEntries = 128;
inline constexpr std::uint32_t kMostBlocksLogged = 1 << 19;
inline constexpr std::uint32_t kMostComparisonsLogged = 1 << 15;

// Two numbers that a kernel compared. Of one place in its code and one call, at most the first that were less, equal and greater.
struct ComparedValues {
  // Where: a number of the module, the number of a switch's case, and the address in the module's file.
  std::uint64_t place;
  std::int64_t left;  // the constant, where one of them is
  std::int64_t right;
  std::uint32_t constant;  // `left` is in the code
  std::uint32_t real;      // both are doubles' bits

  friend bool operator==(const ComparedValues&, const ComparedValues&) = default;
};

constexpr std::uint64_t comparison_place(std::uint64_t module, std::uint64_t which, std::uint64_t address) {
  return module << 58 | (which & 0x3ff) << 48 | (address & 0xffff'ffff'ffff);
}

struct CoverageLog {
  struct Span {
    std::uint32_t first, end;  // end: kOpen while the entry runs
  };
  static constexpr std::uint32_t kOpen = ~0u;
  static constexpr std::uint32_t kRecords = 0x636f7631;  // "cov1"

  std::uint32_t records;                           // kRecords once a worker writes here
  std::atomic<std::uint32_t> blocks, comparisons;  // how many there were, also beyond what there is room for
  std::array<Span, kCoveredEntries> blocks_of, comparisons_of;
  std::array<std::uint32_t, kMostBlocksLogged> block;
  std::array<ComparedValues, kMostComparisonsLogged> comparison;
};

}  // namespace assay
