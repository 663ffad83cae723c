// What the device can do at most, measured by the plainest kernels there are.
#pragma once

#include <assay/device_timing.h>

#include <cstdint>

#include "../device.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Nanoseconds of `calls` times reading and writing so many bytes, all at the same pace, in `copies` buffers in turn. Throws
// std::runtime_error.
double stream_ns(std::uint64_t read, std::uint64_t written, std::uint32_t copies, std::uint32_t calls);

struct Operations {
  double done, ns;
};
// About `wanted` operations in registers, on all multiprocessors. Throws std::runtime_error.
Operations arithmetic(assay_arithmetic which, double wanted);

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
