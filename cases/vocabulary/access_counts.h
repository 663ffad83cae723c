// How many pieces of memory the accesses of a GPU's warps touch, for each instruction of a kernel: 32-byte sectors of global
// memory, and passes over the banks of shared memory. Kernels that run in the emulation count them (optimized/cuda/emulation)
// into a file of kCountedPlaces of these, which ASSAY_CUDA_STATISTICS names and all processes share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

struct AccessCounts {
  std::uint64_t pc = 0;     // from the beginning of the kernels' library; 0: nothing here
  std::uint32_t bytes = 0;  // of a lane's access
  std::uint8_t shared = 0, write = 0;
  std::uint64_t requests = 0;  // of warps
  std::uint64_t units = 0;     // sectors, or passes
  std::uint64_t ideal = 0;     // as few as can hold the bytes that were asked for
};
inline constexpr std::size_t kCountedPlaces = 1 << 14;
inline constexpr const char* kAccessCountsVariable = "ASSAY_CUDA_STATISTICS";
// With this variable of whatever value, a process that emulates kernels looks at each access to memory: for races, bounds, memory
// that nobody has written. Counts are of accesses that are looked at.
inline constexpr const char* kCheckVariable = "ASSAY_CUDA_CHECK";

}  // namespace assay
