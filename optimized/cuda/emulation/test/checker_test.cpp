#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "checker.h"
#include "faulty_kernels.h"
#include "launch.h"
#include "text.h"

namespace assay::cuda {
namespace {

using emulation::Order;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kBlocks = 3, kThreads = 64;

struct Ran {
  std::string fault;
  std::vector<float> out;
};

Ran run(Planted planted, Order order, std::uint64_t seed = 1, bool checked = true) {
  emulation::checker_switch.wanted = checked;
  emulation::options() = {.order = order, .seed = seed};
  // 16 bytes in front and after, so that a neighbour's memory is not what a fault touches.
  std::vector<float> in(kBlocks * kThreads + 8);
  std::iota(in.begin(), in.end(), -3.0f);
  Ran ran;
  ran.out.assign(kBlocks * kThreads + 8, -1.0f);
  try {
    sum_of_blocks(planted, in.data() + 4, ran.out.data() + 4, kBlocks, kThreads);
  } catch (const emulation::Fault& fault) {
    ran.fault = fault.what();
  }
  return ran;
}

class EveryOrder : public testing::TestWithParam<std::pair<Order, std::uint64_t>> {};
INSTANTIATE_TEST_SUITE_P(Orders, EveryOrder,
                         testing::Values(std::pair{Order::forward, 1u}, std::pair{Order::reverse, 1u},
                                         std::pair{Order::random, 1u}, std::pair{Order::random, 2u},
                                         std::pair{Order::random, 3u}));

TEST_P(EveryOrder, ACorrectKernelIsCorrect) {
  const auto [order, seed] = GetParam();
  const Ran ran = run(Planted::nothing, order, seed);
  EXPECT_EQ(ran.fault, "");
  for (int b = 0; b < kBlocks; ++b) {
    float sum = 0;
    for (int i = 0; i < kThreads; ++i) sum += static_cast<float>(b * kThreads + i + 1);
    for (int i = 0; i < kThreads; ++i)
      ASSERT_EQ(ran.out[static_cast<std::size_t>(4 + b * kThreads + i)], sum)
          << "block " << b << " thread " << i;
  }
}

struct Expected {
  Planted planted;
  const char* words;
};

// Names of tests are the same in each run.
void PrintTo(const Expected& e, std::ostream* out) { *out << static_cast<int>(e.planted) << ", " << e.words; }

class EveryFault : public testing::TestWithParam<Expected> {};
INSTANTIATE_TEST_SUITE_P(
    Faults, EveryFault,
    testing::Values(
        Expected{Planted::no_barrier_before_reading, "shared memory part"},
        Expected{Planted::no_barrier_before_reuse, "race, a write and a read, on shared memory part"},
        Expected{Planted::barrier_in_a_branch, "divergent __syncthreads()"},
        Expected{Planted::barrier_without_all, "deadlock: block "},
        Expected{Planted::unwritten_shared, "reads what nobody has written: shared memory part"},
        Expected{Planted::behind_shared, "bytes after the end of part"},
        Expected{Planted::behind_global, "bytes after the end of in"},
        Expected{Planted::before_global, "bytes before the beginning of in"},
        Expected{Planted::index_in_32_bits, "which belongs to nothing that the kernel was given"},
        Expected{Planted::misaligned, "16 bytes read at no multiple of 16"},
        Expected{Planted::writes_input, "writes an input"},
        Expected{Planted::unwritten_scratch, "reads what nobody has written: scratch"},
        Expected{Planted::adds_to_unwritten, "reads what nobody has written: scratch"},
        Expected{Planted::plain_update, "race, "}, Expected{Planted::plain_update_across_blocks, "race, "},
        Expected{Planted::reads_atomic_sum, "race, a"}, Expected{Planted::warp_without_syncwarp, "race, "},
        Expected{Planted::mask_leaves_out_caller, "leaves out the lane that calls"},
        Expected{Planted::mask_names_ended_lane, "which has ended"},
        Expected{Planted::mask_names_missing_lane, "which the block does not have"},
        Expected{Planted::mixed_warp_operations, "__shfl_"},
        Expected{Planted::same_slot, "race, two writes, on shared memory part"}));

// Whatever the order is: that is what looking at every access is for.
TEST_P(EveryFault, IsFoundInEveryOrder) {
  for (const auto& [order, seed] : {std::pair{Order::forward, 1u}, std::pair{Order::reverse, 1u},
                                    std::pair{Order::random, 1u}, std::pair{Order::random, 2u}}) {
    const Ran ran = run(GetParam().planted, order, seed);
    EXPECT_THAT(ran.fault, HasSubstr(GetParam().words))
        << "order " << static_cast<int>(order) << " seed " << seed;
    EXPECT_THAT(ran.fault, AnyOf(HasSubstr("sum_of_blocks_kernel<"), HasSubstr("short_warp_kernel")));
  }
}

TEST(Checker, NamesTheLinesOfARace) {
  const std::string fault = run(Planted::plain_update_across_blocks, Order::forward).fault;
  EXPECT_THAT(fault, HasSubstr("total at byte 0"));
  EXPECT_THAT(fault, HasSubstr("block 1 thread 0 at optimized/cuda/emulation/test/faulty_kernels.cu:"));
  EXPECT_THAT(fault, HasSubstr("block 0 thread 0 at optimized/cuda/emulation/test/faulty_kernels.cu:"));
}

// The same kernels, in a process that did not ask for it; what the scheduler sees is seen.
TEST(Checker, LooksAtNothingUnlessItIsWanted) {
  EXPECT_EQ(run(Planted::same_slot, Order::forward, 1, false).fault, "");
  EXPECT_EQ(run(Planted::writes_input, Order::forward, 1, false).fault, "");
  EXPECT_NE(run(Planted::barrier_in_a_branch, Order::forward, 1, false).fault, "");
  EXPECT_NE(run(Planted::same_slot, Order::forward).fault, "");
}

// What a shuffle takes from a lane that is not there is poison, which spreads to the result.
TEST(Checker, AShuffleFromALaneThatIsNotThereGivesNaN) {
  const Ran ran = run(Planted::reads_other_lane, Order::forward);
  EXPECT_EQ(ran.fault, "");
  EXPECT_NE(ran.out[4], ran.out[4]);
}

TEST(Checker, AfterAFaultLaunchesWorkAgain) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(run(Planted::barrier_in_a_branch, Order::random, static_cast<std::uint64_t>(i)).fault, "");
    EXPECT_EQ(run(Planted::nothing, Order::reverse).fault, "");
  }
}

TEST(Emulation, SaysWhatNoGpuRuns) {
  const auto fault = [](dim3 grid, dim3 block, std::size_t shared) -> std::string {
    try {
      emulation::run({.grid = grid, .block = block, .shared_bytes = shared, .thread = [](const void*) {}});
    } catch (const emulation::Fault& f) {
      return f.what();
    }
    return "";
  };
  EXPECT_EQ(fault(1, 1024, 0), "");
  EXPECT_THAT(fault(1, 1025, 0), HasSubstr("(1025, 1, 1) threads"));
  EXPECT_THAT(fault(dim3(1, 65536), 32, 0), HasSubstr("(1, 65536, 1) blocks"));
  EXPECT_THAT(fault(1, dim3(1, 1, 65), 0), HasSubstr("(1, 1, 65) threads"));
  EXPECT_THAT(fault(0, 32, 0), HasSubstr("(0, 1, 1) blocks"));
  EXPECT_THAT(fault(1, 32, 228 << 10), HasSubstr("bytes of shared memory"));
}

TEST(Emulation, ReadsTheNamesOfKernels) {
  EXPECT_EQ(emulation::demangled("not a mangled name"), "not a mangled name");
}

}  // namespace
}  // namespace assay::cuda
