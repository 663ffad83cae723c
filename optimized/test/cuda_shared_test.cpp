// The shared memory of kernels that run on the processor: where its variables lie, and what is written beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cuda/call.h"
#include "cuda/emulation/shared_memory.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Thread 0 writes at `index` of the first variable, of 64 elements, or of the dynamic one.
__global__ void shared_test_kernel(int index, bool dynamic) {
  ASSAY_SHARED(float, part, [64]);
  ASSAY_SHARED_DYNAMIC(float, more);
  const int i = static_cast<int>(threadIdx.x);
  part[i] = more[i] = 1;
  if (i == 0) (dynamic ? more : part)[index] = 2;
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

using ::testing::HasSubstr;

std::string fault_of_writing_shared(int index, bool dynamic) {
  try {
    launch<shared_test_kernel>(dim3(2, 2), 64, 64 * sizeof(float), index, dynamic);
  } catch (const emulation::Fault& fault) {
    return fault.what();
  }
  return "";
}

TEST(CudaShared, WhatIsWrittenBesideAVariableIsFound) {
  for (const auto order : {emulation::Order::forward, emulation::Order::reverse, emulation::Order::random}) {
    emulation::options() = {.order = order, .seed = 3};
    EXPECT_EQ(fault_of_writing_shared(0, false), "");
    EXPECT_EQ(fault_of_writing_shared(63, true), "");
    for (const int index : {-1, -32})
      EXPECT_THAT(fault_of_writing_shared(index, false),
                  HasSubstr("written in front of shared memory part, in block "));
    for (const int index : {64, 95})
      EXPECT_THAT(fault_of_writing_shared(index, false),
                  HasSubstr("written after shared memory part, which has 256 bytes, in block "));
    EXPECT_THAT(fault_of_writing_shared(-1, true), HasSubstr("written after shared memory part"));
    EXPECT_THAT(fault_of_writing_shared(64, true), HasSubstr("written after shared memory (dynamic)"));
    EXPECT_EQ(fault_of_writing_shared(63, false), "");
  }
  emulation::options() = {};
}

TEST(CudaShared, VariablesLieApartAndStayUntilTheBlockEnds) {
  emulation::SharedMemory memory;
  const char keys[40] = {};
  std::set<std::byte*> places;
  for (int k = 0; k < 32; ++k) {
    auto* const at = static_cast<std::byte*>(memory.variable(&keys[k], 1, "v", nullptr));
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 128, 0u);
    EXPECT_EQ(*at, std::byte{0xff});
    EXPECT_TRUE(places.insert(at).second);
    EXPECT_EQ(memory.variable(&keys[k], 1, "v", nullptr), at);
  }
  EXPECT_EQ(memory.variable(&keys[32], 1, "v", nullptr), nullptr);
  EXPECT_EQ(memory.overrun(), "");
  memory.clear();
  auto* const all = static_cast<std::byte*>(memory.variable(&keys[0], emulation::kMaxShared, "all", nullptr));
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(memory.variable(&keys[1], 1, "v", nullptr), nullptr);
  EXPECT_EQ(memory.overrun(), "");
  all[emulation::kMaxShared] = std::byte{1};
  EXPECT_EQ(memory.overrun(), "written after shared memory all, which has 232448 bytes");
}

}  // namespace
}  // namespace assay::cuda
