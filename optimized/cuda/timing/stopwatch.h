// The device's own clock around work that was asked for in advance.
#pragma once

#include <functional>

#include "../memory.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// How many calls with a few launches and allocations each fit the device's queue.
inline constexpr unsigned kMostCalls = 128;

struct Elapsed {
  double ns = 0;
  bool late = false;  // it began before all was asked for
};
// The time that the device takes for what `ask` asks for. It begins when all was asked for, or after 20 ms: a full queue
// takes no more. Throws std::runtime_error, and what `ask` throws.
Elapsed device_time(const std::function<void()>& ask);

// Bytes of the cache that all of the device shares.
std::size_t cache_bytes();
// Fills it with what nobody reads. Throws std::runtime_error.
void empty_cache();

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
