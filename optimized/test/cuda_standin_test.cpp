// The stand-in for a GPU (optimized/cuda/standin) is as strict as one.
#include <gtest/gtest.h>

#if defined(ASSAY_STANDIN_CUDART)  // nvcc was found

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

namespace assay::cuda {
namespace {

// Not the CUDA runtime that this program is linked with.
void* function(const char* name) {
  static void* const library = dlopen(ASSAY_STANDIN_CUDART, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* const found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return found;
}
#define STANDIN(name) reinterpret_cast<decltype(&::name)>(function(#name))

constexpr std::array<char, 8> kData{1, 2, 3, 4, 5, 6, 7, 8};

char* allocate(std::size_t bytes) {
  void* data = nullptr;
  EXPECT_EQ(STANDIN(cudaMallocAsync)(&data, bytes, nullptr), cudaSuccess);
  return static_cast<char*>(data);
}

TEST(CudaStandin, CopiesThereAndBack) {
  char* const there = allocate(kData.size());
  ASSERT_EQ(STANDIN(cudaMemcpyAsync)(there, kData.data(), kData.size(), cudaMemcpyHostToDevice, nullptr),
            cudaSuccess);
  ASSERT_EQ(STANDIN(cudaMemsetAsync)(there + 1, 9, 2, nullptr), cudaSuccess);
  std::array<char, 8> back{};
  ASSERT_EQ(STANDIN(cudaMemcpy)(back.data(), there, back.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, (std::array<char, 8>{1, 9, 9, 4, 5, 6, 7, 8}));
  EXPECT_EQ(STANDIN(cudaFreeAsync)(there, nullptr), cudaSuccess);
}

TEST(CudaStandinDeathTest, ItsMemoryIsNotTheHosts) {
  EXPECT_DEATH(
      {
        char* const there = allocate(8);
        STANDIN(cudaStreamSynchronize)(nullptr);
        there[0] = 1;
      },
      "");
}

TEST(CudaStandin, DirectionsOfCopiesMustBeTrue) {
  char* const there = allocate(8);
  std::array<char, 8> here{};
  const auto copy = STANDIN(cudaMemcpyAsync);
  EXPECT_EQ(copy(here.data(), there, 8, cudaMemcpyHostToDevice, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(copy(there, here.data(), 8, cudaMemcpyDeviceToHost, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(copy(there, here.data(), 8, cudaMemcpyDeviceToDevice, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(STANDIN(cudaGetLastError)(), cudaErrorInvalidValue);
  EXPECT_EQ(STANDIN(cudaGetLastError)(), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaFreeAsync)(there, nullptr), cudaSuccess);
}

TEST(CudaStandin, MoreThanWasAllocatedIsAnError) {
  char* const there = allocate(8);
  std::array<char, 9> here{};
  EXPECT_EQ(STANDIN(cudaMemcpyAsync)(there, here.data(), 9, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(STANDIN(cudaMemcpyAsync)(here.data(), there + 4, 5, cudaMemcpyDeviceToHost, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(STANDIN(cudaMemsetAsync)(there + 8, 0, 1, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(STANDIN(cudaFreeAsync)(there, nullptr), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaFreeAsync)(there, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(STANDIN(cudaMemcpyAsync)(there, here.data(), 8, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  STANDIN(cudaGetLastError)();
}

// Work is done when somebody waits for it, and what was allocated is nothing that anybody wrote.
TEST(CudaStandin, WorkWaits) {
  bool done = false;
  ASSERT_EQ(STANDIN(cudaLaunchHostFunc)(
                nullptr, [](void* data) { *static_cast<bool*>(data) = true; }, &done),
            cudaSuccess);
  EXPECT_FALSE(done);
  ASSERT_EQ(STANDIN(cudaStreamSynchronize)(nullptr), cudaSuccess);
  EXPECT_TRUE(done);
  char* const there = allocate(8);
  std::array<char, 8> here{};
  ASSERT_EQ(STANDIN(cudaMemcpy)(here.data(), there, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NE(here, (std::array<char, 8>{}));
  EXPECT_EQ(STANDIN(cudaFreeAsync)(there, nullptr), cudaSuccess);
}

TEST(CudaStandin, FunctionsThatAreNoKernelsCannotBeLaunched) {
  EXPECT_EQ(STANDIN(cudaLaunchKernel)(kData.data(), dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  STANDIN(cudaGetLastError)();
}

}  // namespace
}  // namespace assay::cuda

#endif
