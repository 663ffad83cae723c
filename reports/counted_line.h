// What `verify --check` counts of CUDA kernels: how many pieces of memory the accesses of their warps touch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

// One line of a kernel, for one kind of access.
struct CountedLine {
  std::string place;           // "optimized/cuda/reduce.h:40"
  std::string kernel;          // without template arguments
  std::string access;          // "shared read, 4 B"
  std::uint64_t requests = 0;  // of warps
  std::uint64_t units = 0;     // 32-byte sectors, or passes over the banks of shared memory
  std::uint64_t least = 0;     // as few as can hold the bytes that were asked for

  std::uint64_t wasted() const { return units - std::min(units, least); }
};

// One for each kernel, place and kind of access, most wasteful first.
std::vector<CountedLine> summed(const std::vector<CountedLine>& counted);

}  // namespace assay
