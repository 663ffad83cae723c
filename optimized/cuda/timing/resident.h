// Memory of the program that the device has copies of, so that calls with tensors there copy nothing (memory_gpu.cu).
#pragma once

#include <assay/device_timing.h>

#include <cstdint>
#include <span>

#include "../memory.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Of what cudaMallocAsync gives.
constexpr std::uintptr_t kAlignment = 256;

// Copies it to the device, `copies` times, in place of what was held before. Throws std::runtime_error.
void hold(std::span<const assay_memory> memory, std::uint32_t copies);
std::uint32_t copies_held();
// Calls have another copy from now on, each in its turn.
void use_next_copy();
// Where the device has this memory; null if it is not held as a whole.
void* held(const void* data, std::size_t bytes);
// Waits for the device, and copies that of the copies back that calls have. Throws std::runtime_error.
void fetch(std::span<const assay_memory> memory);
void release();

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
