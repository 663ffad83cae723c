// The interpreter of PTX: what lanes have of their own, and what they do together under masks that are not those of all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cuda_ptx_support.h"

namespace assay::cuda::ptx {
namespace {

using ::testing::HasSubstr;

// Of each of `threads` threads the number that `body` leaves in %v, where it finds its own in %t.
std::vector<std::uint64_t> each_thread(const std::string& body, unsigned threads = 32,
                                       const std::string& outside = "") {
  std::vector<std::uint64_t> in(1), out(threads);
  EXPECT_EQ(
      run_kernel(kernel("mov.u32 %t, %tid.x;\nmov.u64 %v, 0;\n" + body +
                            "mul.wide.u32 %by, %t, 8;\nadd.s64 %to, %out, %by;\nst.global.u64 [%to], %v;\n",
                        outside),
                 in, out, {.block = threads}),
      "");
  return out;
}
std::vector<std::uint64_t> numbers(unsigned threads,
                                   const std::function<std::uint64_t(std::uint64_t)>& of_thread) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t t = 0; t < threads; ++t) all.push_back(of_thread(t));
  return all;
}

// %n: of the lower lanes their 16, of the upper ones theirs.
const std::string kMaskOfHalf = "setp.lt.u32 %p, %t, 16;\nselp.b32 %n, 0xffff, 0xffff0000, %p;\n";
// %n: every third lane, with this one.
const std::string kMaskOfThird =
    "rem.u32 %b, %t, 3;\nshl.b32 %n, 0x49249249, %b;\nand.b32 %n, %n, 0xffffffff;\n";

TEST(PtxWarp, LanesMayNameDifferentMasksAtOneInstruction) {
  EXPECT_EQ(each_thread(kMaskOfHalf + "shfl.sync.bfly.b32 %v|%q, %t, 1, 31, %n;\n"),
            numbers(32, [](std::uint64_t t) { return t ^ 1; }));
  EXPECT_EQ(each_thread(kMaskOfThird + "setp.ne.u32 %p, %t, 9;\nvote.sync.ballot.b32 %v, %p, %n;\n"),
            numbers(32, [](std::uint64_t t) {
              return (std::uint64_t{0x49249249} << t % 3 & 0xffffffffu) & ~(std::uint64_t{1} << 9);
            }));
}

TEST(PtxWarp, AVoteIsOfTheLanesOfItsMask) {
  const std::string predicate = "setp.lt.u32 %p, %t, 17;\n";
  for (const char* kind : {"all", "any"}) {
    const bool all = std::string(kind) == "all";
    EXPECT_EQ(each_thread(kMaskOfHalf + predicate + "vote.sync." + kind +
                          ".pred %q, %p, %n;\nselp.b64 %v, 1, 0, %q;\n"),
              numbers(32, [&](std::uint64_t t) { return t < 16 || !all ? 1 : 0; }));
  }
}

// Of each third some have gone another way, and come back to where others wait.
TEST(PtxWarp, LanesOfDifferentMasksComeOneAfterAnother) {
  EXPECT_EQ(each_thread(
                kMaskOfThird +
                "mov.u64 %x, 1;\nand.b32 %y, %t, 4;\nsetp.ne.u32 %p, %y, 0;\nsetp.eq.u32 %q, 1, 1;\n"
                "@%p bra $late;\n$meet:\nvote.sync.ballot.b32 %w, %q, %n;\nbar.warp.sync %n;\nbra.uni $end;\n"
                "$late:\nadd.s64 %x, %x, 1;\nbra.uni $meet;\n$end:\nadd.s64 %v, %w, %x;\n"),
            numbers(32, [](std::uint64_t t) {
              return (std::uint64_t{0x49249249} << t % 3 & 0xffffffffu) + (t / 4 % 2) + 1;
            }));
}

struct MaskFault {
  const char* body;
  const char* message;
};
class MaskFaults : public testing::TestWithParam<MaskFault> {};
INSTANTIATE_TEST_SUITE_P(
    Each, MaskFaults,
    testing::Values(
        // Lane 1 names itself alone, others name it, too.
        MaskFault{
            "setp.eq.u32 %p, %t, 1;\nselp.b32 %n, 2, -1, %p;\nshfl.sync.bfly.b32 %v|%q, %t, 1, 31, %n;\n",
            "deadlock: lanes of its mask never come: block 0 warp 0 lane 0"},
        // The lower lanes have the mask of the upper ones by then, but are gone.
        MaskFault{"setp.lt.u32 %p, %t, 16;\nselp.b32 %n, 0xffff, -1, %p;\nmov.u32 %x, -1;\n"
                  "shfl.sync.idx.b32 %n|%q, %x, 0, 31, %n;\n",
                  "deadlock: lanes of its mask never come: block 0 warp 0 lane 16"},
        MaskFault{"setp.lt.u32 %p, %t, 16;\nselp.b32 %n, 0xffff, 0xfffe0000, %p;\nbar.warp.sync %n;\n",
                  "the mask leaves its caller out: block 0 warp 0 lane 16"},
        MaskFault{"setp.lt.u32 %p, %t, 16;\nselp.b32 %n, 0xffff, 0xffff0001, %p;\nbar.warp.sync %n;\n",
                  "deadlock: lanes of its mask never come: block 0 warp 0 lane 16"},
        MaskFault{
            "setp.eq.u32 %p, %t, 20;\n@%p ret;\nsetp.lt.u32 %p, %t, 16;\nselp.b32 %n, 0xffff, 0xffff0000, %p;\n"
            "bar.warp.sync %n;\n",
            "the mask names lane 20, which has left: block 0 warp 0 lane 16"}));

TEST_P(MaskFaults, AreFound) {
  std::vector<std::uint64_t> in(1), out(1);
  EXPECT_THAT(run_kernel(kernel("mov.u32 %t, %tid.x;\n" + std::string(GetParam().body)), in, out),
              HasSubstr(GetParam().message));
}

// A warp none of whose lanes does it does not come to a barrier, and need not.
TEST(PtxWarp, AWarpMaySkipABarrier) {
  EXPECT_EQ(each_thread("setp.lt.u32 %p, %t, 32;\n@%p bar.sync 0;\nmov.u64 %v, %t;\n", 96),
            numbers(96, [](std::uint64_t t) { return t; }));
}

TEST(PtxLocalMemory, IsOfEachThreadAlone) {
  const auto tids = [](std::uint64_t factor) {
    return numbers(64, [factor](std::uint64_t t) { return factor * t; });
  };
  const std::string declared = ".local .align 8 .b8 depot[16];\n";
  EXPECT_EQ(each_thread(declared + "st.local.u32 [depot+4], %t;\nld.local.u32 %v, [depot+4];\n", 64),
            tids(1));
  EXPECT_EQ(each_thread(declared + "mov.u64 %a, depot;\nst.local.v2.u32 [%a+8], {%t, %t};\n"
                                   "ld.local.v2.u32 {%x, %y}, [depot+8];\nadd.u32 %v, %x, %y;\n",
                        64),
            tids(2));
  // As nvcc passes it on, by a generic address.
  EXPECT_EQ(each_thread(declared + "mov.u64 %a, depot;\ncvta.local.u64 %b, %a;\nst.u64 [%b+8], %t;\n"
                                   "ld.local.u64 %v, [%a+8];\n",
                        64),
            tids(1));
  EXPECT_EQ(each_thread(declared + "mov.u64 %a, depot;\ncvta.local.u64 %b, %a;\nst.local.u64 [%a], %t;\n"
                                   "ld.u64 %v, [%b];\n",
                        64),
            tids(1));
}

TEST(PtxLocalMemory, StartsAsPoisonAndHasAnEnd) {
  EXPECT_EQ(each_thread(".local .b64 x;\nld.local.u64 %v, [x];\n"),
            numbers(32, [](std::uint64_t) { return ~std::uint64_t{0}; }));
  std::vector<std::uint64_t> in(1), out(1);
  EXPECT_THAT(run_kernel(kernel(".local .b64 x;\nst.local.u64 [x+8], 1;\n"), in, out),
              HasSubstr("out of bounds: 8 bytes at byte 8 of local memory, which has 8"));
}

TEST(PtxSharedMemory, OfVariablesAndOfTheLaunchIsLimitedTogether) {
  const std::string text = kernel("", ".shared .align 16 .b8 row[1024];\n");
  constexpr std::size_t most = 227 * 1024;
  std::vector<std::uint64_t> in(1), out(1);
  EXPECT_EQ(run_kernel(text, in, out, {.shared = most - 1024}), "");
  EXPECT_EQ(run_kernel(text, in, out, {.shared = most - 1008}),
            "no GPU has 232464 bytes of shared memory for a block");
}

}  // namespace
}  // namespace assay::cuda::ptx
