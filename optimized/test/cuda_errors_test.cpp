// What becomes of CUDA's errors (optimized/cuda/memory.h). Those that CUDA has of itself need a device; these are given.
#include <gtest/gtest.h>

#if defined(ASSAY_PTX_FOLDER)  // nvcc was found

#include <driver_types.h>

#include <stdexcept>

namespace assay::cuda {
inline namespace gpu {

void check(cudaError_t error, const char* doing, const char* file, int line);

}  // namespace gpu

namespace {

TEST(CudaErrors, NothingBecomesOfSuccess) { check(cudaSuccess, "waiting", "optimized/cuda/a.cu", 3); }

TEST(CudaErrors, OfOneCallAreThrownWithWhatWasDoneAndWhere) {
  try {
    check(cudaErrorMemoryAllocation, "allocating scratch", "/some/where/optimized/cuda/a.cu", 3);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(
        error.what(),
        "allocating scratch failed: cudaErrorMemoryAllocation, out of memory (optimized/cuda/a.cu:3)");
  }
}

// A later call of the same process would fail, too, and be blamed.
TEST(CudaErrorsDeathTest, AfterWhichThereIsNoDeviceEndTheProcess) {
  EXPECT_DEATH(check(cudaErrorIllegalAddress, "running the kernels", "optimized/cuda/a.cu", 3),
               "running the kernels failed: cudaErrorIllegalAddress, .*a.cu:3");
  EXPECT_DEATH(check(cudaErrorLaunchFailure, "running the kernels", "optimized/cuda/a.cu", 3),
               "cudaErrorLaunchFailure");
}

}  // namespace
}  // namespace assay::cuda

#endif
