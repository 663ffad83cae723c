// Counts what the accesses of warps touch (vocabulary/access_counts.h). Without the variable nothing is counted.
#pragma once

#include <cstdint>

namespace assay::cuda::emulation {

struct CountedAccess {
  std::uint32_t pc;  // from the beginning of the library
  unsigned thread;
  std::uintptr_t address;
  std::uint32_t bytes;
  bool shared, write;
};

// Accesses of a block are collected, and counted when the next one begins or the launch ends.
void count_access(const CountedAccess& access);
void count_block();

}  // namespace assay::cuda::emulation
