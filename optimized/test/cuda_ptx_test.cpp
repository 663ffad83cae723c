// The interpreter of PTX: instructions against what the PTX ISA says of them, lanes that part and meet, and what it finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "cuda/ptx/lanes.h"
#include "cuda_ptx_support.h"

namespace assay::cuda::ptx {
namespace {

using emulation::Order;
using ::testing::HasSubstr;

// Instructions of %d and up to three operands %x, %y, %z.
struct Case {
  const char* instruction;
  std::vector<std::uint64_t> operands;
  std::uint64_t result;
};
class Instructions : public testing::TestWithParam<Case> {};

TEST_P(Instructions, DoWhatTheIsaSays) {
  const Case& c = GetParam();
  std::vector<std::uint64_t> in = c.operands, out(1, 0xdeaddeaddeaddeadu);
  in.resize(3);
  const std::string body =
      std::string(".reg .pred p, q;\nmov.u64 %d, 0;\nmov.u64 %e, 0;\n") +
      "ld.global.u64 %x, [%in];\nld.global.u64 %y, [%in+8];\nld.global.u64 %z, [%in+16];\n" + c.instruction +
      "\nst.global.u64 [%out], %d;\n";
  const bool avx2 = in_avx2();
  for (const bool vectors : {false, avx2})
    for (const unsigned lanes : {1u, kWarp}) {
      in_avx2() = vectors;
      ASSERT_EQ(run_kernel(kernel(body), in, out, {.block = lanes}), "");
      EXPECT_EQ(out[0], c.result) << std::hex << out[0] << " for " << c.result << ", " << lanes << " lanes"
                                  << (vectors ? ", by AVX2" : "");
    }
}

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint64_t kNanBits = 0x7fffffffu;
const double kNan64 = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Integers, Instructions,
    testing::Values(
        Case{"add.s32 %d, %x, %y;", {of(2147483647), of(1)}, 0xffffffff80000000u},
        Case{"sub.u32 %d, %x, %y;", {1, 2}, 0xffffffffu},
        Case{"mul.lo.s64 %d, %x, %y;", {~0ull, 3}, ~0ull - 2},
        Case{"mul.hi.u64 %d, %x, %y;", {~0ull, ~0ull}, ~0ull - 1},
        Case{"mul.hi.s32 %d, %x, %y;", {of(-1), of(1)}, ~0ull},
        Case{"mul.wide.s32 %d, %x, %y;", {of(-3), of(5)}, static_cast<std::uint64_t>(-15)},
        Case{"mul.wide.u16 %d, %x, %y;", {0xffff, 0xffff}, 0xfffe0001u},
        Case{"mad.lo.s32 %d, %x, %y, %z;", {of(-3), of(5), of(16)}, 1},
        Case{"mad.wide.u32 %d, %x, %y, %z;", {0xffffffff, 2, 2}, 0x200000000u},
        Case{"div.s32 %d, %x, %y;", {of(-7), of(2)}, static_cast<std::uint64_t>(-3)},
        Case{"rem.s64 %d, %x, %y;", {static_cast<std::uint64_t>(-7), 2}, ~0ull},
        Case{"min.s32 %d, %x, %y;", {of(-1), of(1)}, ~0ull}, Case{"min.u32 %d, %x, %y;", {of(-1), of(1)}, 1},
        Case{"abs.s32 %d, %x;", {of(-5)}, 5}, Case{"neg.s64 %d, %x;", {5}, static_cast<std::uint64_t>(-5)},
        Case{"shl.b32 %d, %x, %y;", {3, 31}, 0x80000000u}, Case{"shl.b32 %d, %x, %y;", {3, 32}, 0},
        Case{"shr.s32 %d, %x, %y;", {of(-8), 40}, ~0ull}, Case{"shr.u32 %d, %x, %y;", {0x80000000u, 31}, 1},
        Case{"shf.l.wrap.b32 %d, %x, %y, %z;", {0x80000001u, 0x2, 1}, 5},
        Case{"shf.r.clamp.b32 %d, %x, %y, %z;", {0x1, 0xabcd, 32}, 0xabcd},
        Case{"bfi.b64 %d, %x, %y, 8, 16;", {0xabcd, 0xff000000000000ffu}, 0xff00000000abcdffu},
        Case{"bfi.b32 %d, %x, %y, 24, 8;", {0x1ff, 0x11223344}, 0xff223344u},
        Case{"bfe.u32 %d, %x, 4, 8;", {0xabcde}, 0xcd},
        Case{"bfe.s32 %d, %x, 4, 8;", {0xabcde}, 0xffffffffffffffcdu},
        // Fields that end after the last bit, as long as the number or longer.
        Case{"bfe.s32 %d, %x, 4, 32;", {0x80000000u}, 0xfffffffff8000000u},
        Case{"bfe.s32 %d, %x, 0, 40;", {0xffffffffu}, ~0ull},
        Case{"bfe.s32 %d, %x, 40, 8;", {0x80000000u}, ~0ull},
        Case{"bfe.u32 %d, %x, 4, 40;", {0xffffffffu}, 0x0fffffffu},
        Case{"bfe.s64 %d, %x, 4, 64;", {1ull << 63}, 0xf800000000000000u},
        Case{"bfe.s64 %d, %x, 0, 64;", {1ull << 63}, 1ull << 63},
        Case{"prmt.b32 %d, %x, %y, 0x7540;", {0x03020100, 0x07060504}, 0x07050400},
        Case{"prmt.b32 %d, %x, %y, 0x000f;", {0, 0x80000000u}, 0xff},
        Case{"lop3.b32 %d, %x, %y, %z, 0x96;", {0b1100, 0b1010, 0b1111}, 0b1001},
        Case{"popc.b32 %d, %x;", {0xf0f0}, 8}, Case{"clz.b32 %d, %x;", {1}, 31},
        Case{"brev.b32 %d, %x;", {1}, 0x80000000u}, Case{"not.b16 %d, %x;", {0xff}, 0xff00},
        Case{"dp4a.s32.s32 %d, %x, %y, %z;", {0xff020304, 0x01010101, of(10)}, 18},
        Case{"dp4a.u32.s32 %d, %x, %y, %z;", {0xff000000, 0xff000000, 0}, static_cast<std::uint64_t>(-255)}));

INSTANTIATE_TEST_SUITE_P(
    Floats, Instructions,
    testing::Values(
        Case{"add.rn.f32 %d, %x, %y;", {of(1.0f), of(0x1p-24f)}, of(1.0f)},
        Case{"add.rz.f32 %d, %x, %y;", {of(1.0f), of(0x1.8p-24f)}, of(1.0f)},
        Case{"add.rp.f32 %d, %x, %y;", {of(1.0f), of(0x1p-40f)}, of(std::nextafter(1.0f, 2.0f))},
        Case{"fma.rm.f32 %d, %x, %y, %z;",
             {of(1.0f), of(1.0f), of(-0x1p-40f)},
             of(std::nextafter(1.0f, 0.0f))},
        Case{"fma.rn.f32 %d, %x, %y, %z;", {of(1 + 0x1p-23f), of(1 - 0x1p-23f), of(-1.0f)}, of(-0x1p-46f)},
        Case{"sub.rn.f32 %d, %x, %y;", {of(kInf), of(kInf)}, kNanBits},
        Case{"min.f32 %d, %x, %y;", {of(kNan), of(2.0f)}, of(2.0f)},
        Case{"max.NaN.f32 %d, %x, %y;", {of(kNan), of(2.0f)}, kNanBits},
        Case{"max.f32 %d, %x, %y;", {of(-0.0f), of(0.0f)}, of(0.0f)},
        Case{"min.f32 %d, %x, %y;", {of(0.0f), of(-0.0f)}, of(-0.0f)},
        Case{"copysign.f32 %d, %x, %y;", {of(-1.0f), of(3.0f)}, of(-3.0f)},
        Case{"rcp.rn.f64 %d, %x;", {of(4.0)}, of(0.25)},
        Case{"sqrt.rn.f32 %d, %x;", {of(2.0f)}, of(std::sqrt(2.0f))},
        Case{"ex2.approx.ftz.f32 %d, %x;", {of(-127.0f)}, of(0.0f)},
        Case{"ex2.approx.f32 %d, %x;", {of(-127.0f)}, of(0x1p-127f)},
        Case{"rcp.approx.ftz.f64 %d, %x;", {of(3.0)}, of(1.0 / 3.0) & 0xffffffff00000000u},
        Case{"rcp.approx.ftz.f64 %d, %x;", {of(1 + 0x1p-40)}, of(1.0)},
        Case{"rcp.approx.ftz.f64 %d, %x;", {of(0x1p1023)}, of(0.0)},
        Case{"rcp.approx.ftz.f64 %d, %x;", {of(-0x1p-1023)}, of(-HUGE_VAL)},
        Case{"rcp.approx.ftz.f64 %d, %x;", {of(kNan64)}, 0x7fffffff00000000u},
        Case{"rsqrt.approx.ftz.f64 %d, %x;", {of(-0x1p-1030)}, of(-HUGE_VAL)},
        Case{"rsqrt.approx.f64 %d, %x;", {of(3.0)}, of(1 / std::sqrt(3.0))},
        Case{"div.full.ftz.f32 %d, %x, %y;", {of(0x1p-140f), of(0x1p-140f)}, kNanBits},
        Case{"div.full.ftz.f32 %d, %x, %y;", {of(-0x1p-100f), of(0x1p30f)}, of(-0.0f)},
        Case{"div.full.f32 %d, %x, %y;", {of(0x1p-140f), of(0x1p-140f)}, of(1.0f)},
        Case{"setp.ltu.f32 p, %x, %y; selp.b32 %d, 1, 2, p;", {of(kNan), of(0.0f)}, 1},
        Case{"setp.lt.f32 p, %x, %y; selp.b32 %d, 1, 2, p;", {of(kNan), of(0.0f)}, 2},
        Case{"setp.ne.f32 p, %x, %y; selp.b32 %d, 1, 2, p;", {of(kNan), of(0.0f)}, 2},
        Case{"setp.neu.f32 p, %x, %y; selp.b32 %d, 1, 2, p;", {of(kNan), of(0.0f)}, 1},
        Case{"setp.eq.s32 q, 1, 2; setp.eq.or.s32 p, 1, 1, q; selp.b32 %d, 1, 2, p;", {}, 1}));

INSTANTIATE_TEST_SUITE_P(
    Conversions, Instructions,
    testing::Values(Case{"cvt.rzi.s32.f32 %d, %x;", {of(3e9f)}, 2147483647},
                    Case{"cvt.rzi.s32.f32 %d, %x;", {of(kNan)}, 0},
                    Case{"cvt.rzi.s64.f64 %d, %x;", {of(kNan64)}, 0x8000000000000000u},
                    Case{"cvt.rzi.u32.f32 %d, %x;", {of(-1.0f)}, 0},
                    Case{"cvt.rni.f32.f32 %d, %x;", {of(2.5f)}, of(2.0f)},
                    Case{"cvt.rmi.f32.f32 %d, %x;", {of(-0.5f)}, of(-1.0f)},
                    Case{"cvt.sat.f32.f32 %d, %x;", {of(kNan)}, 0},
                    Case{"cvt.sat.f32.f32 %d, %x;", {of(7.0f)}, of(1.0f)},
                    Case{"cvt.rn.f32.s64 %d, %x;", {16777217}, of(16777216.0f)},
                    Case{"cvt.s64.s8 %d, %x;", {0x80}, static_cast<std::uint64_t>(-128)},
                    Case{"cvt.u16.u32 %d, %x;", {0x12345}, 0x2345},
                    Case{"cvt.rn.f16.f32 %d, %x;", {of(65520.0f)}, 0x7c00},
                    Case{"cvt.rn.sat.f16.f32 %d, %x;", {of(2.0f)}, 0x3c00},
                    Case{"cvt.rn.sat.f16.f32 %d, %x;", {of(0.5f)}, 0x3800},
                    Case{"cvt.rn.sat.f16.f32 %d, %x;", {of(kNan)}, 0},
                    Case{"cvt.rn.bf16.f32 %d, %x;", {of(1 + 0x1p-8f)}, 0x3f80},
                    Case{"cvt.f32.f16 %d, %x;", {0x0001}, of(0x1p-24f)},
                    Case{"cvt.rn.f32.f64 %d, %x;", {of(1 + 0x1p-24)}, of(1.0f)},
                    Case{"cvt.rz.f32.f64 %d, %x;", {of(1 + 0x1.8p-24)}, of(1.0f)},
                    Case{"mov.b64 {%d, %e}, %x;", {0x1122334455667788u}, 0x55667788u},
                    Case{"mov.b64 %d, {%x, %y};", {0x11111111, 0x22222222}, 0x2222222211111111u}));

// Bits of a NaN that is no result stay as they are.
INSTANTIATE_TEST_SUITE_P(
    Moves, Instructions,
    testing::Values(
        Case{"mov.f32 %d, %x;", {0xffc00001u}, 0xffc00001u},
        Case{"setp.eq.s32 p, 1, 1; selp.f32 %d, %x, %y, p;", {0xff800001u, 0}, 0xff800001u},
        Case{"st.global.u32 [%out], %x; atom.global.exch.f32 %d, [%out], %x;", {0xffc00001u}, 0xffc00001u},
        Case{
            "{ .param .b32 a; st.param.f32 [a+0], %x; ld.param.f32 %d, [a+0]; }", {0xffc00001u}, 0xffc00001u},
        Case{"{ .param .b32 a; st.param.b32 [a+0], %x; ld.param.u8 %d, [a+0]; }", {0x12345678}, 0x78},
        Case{"{ .param .align 8 .b8 a[8]; st.param.v2.b32 [a], {%x, %y}; ld.param.b32 %d, [a+4]; }",
             {1, 2},
             2}));

INSTANTIATE_TEST_SUITE_P(Numbers, Instructions,
                         testing::Values(Case{"mov.b64 %d, 010;", {}, 8}, Case{"mov.b64 %d, 0b101U;", {}, 5},
                                         Case{"mov.b64 %d, -010;", {}, static_cast<std::uint64_t>(-8)},
                                         Case{"mov.b64 %d, -0x10;", {}, static_cast<std::uint64_t>(-16)},
                                         Case{"mov.b64 %d, -9223372036854775808;", {}, 1ull << 63},
                                         Case{"ld.global.u64 %d, [%in+010];", {5, 6}, 6}));

// Lanes leave a loop one after another, and meet after it.
TEST(PtxInterpreter, LanesThatPartMeetAgain) {
  const std::string body =
      "mov.u32 %n, %tid.x;\nmov.u32 %sum, 0;\n$again:\nsetp.eq.s32 %p, %n, 0;\n@%p bra $done;\n"
      "add.s32 %sum, %sum, %n;\nsub.s32 %n, %n, 1;\nbra.uni $again;\n$done:\n"
      "shfl.sync.bfly.b32 %other|%q, %sum, 1, 31, -1;\n"
      "mul.wide.u32 %by, %tid.x, 8;\nadd.s64 %to, %out, %by;\ncvt.u64.u32 %wide, %other;\nst.global.u64 [%to], %wide;\n";
  std::vector<std::uint64_t> in(1), out(32);
  ASSERT_EQ(run_kernel(kernel(body), in, out), "");
  for (std::uint64_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], (l ^ 1) * ((l ^ 1) + 1) / 2);
}

TEST(PtxInterpreter, FunctionsAreInlined) {
  const std::string function =
      ".func (.param .b32 r0) twice(.param .b32 a0)\n{\n.reg .b32 %v;\n.reg .pred %p;\nld.param.u32 %v, [a0];\nsetp.gt.s32 %p, %v, 100;\n"
      "@%p bra $big;\nadd.s32 %v, %v, %v;\nst.param.b32 [r0+0], %v;\nret;\n$big:\nst.param.b32 [r0+0], 7;\nret;\n}\n";
  const std::string call =
      "{\n.param .b32 param0;\nst.param.b32 [param0+0], %v;\n.param .b32 retval0;\n"
      "call.uni (retval0), twice, (param0);\nld.param.b32 %v, [retval0+0];\n}\n";
  std::vector<std::uint64_t> in{30}, out(1);
  ASSERT_EQ(run_kernel(kernel("ld.global.u32 %v, [%in];\n" + call + call +
                                  "cvt.u64.u32 %w, %v;\nst.global.u64 [%out], %w;\n",
                              function),
                       in, out),
            "");
  EXPECT_EQ(out[0], 120u);
  in[0] = 101;
  ASSERT_EQ(run_kernel(kernel("ld.global.u32 %v, [%in];\n" + call +
                                  "cvt.u64.u32 %w, %v;\nst.global.u64 [%out], %w;\n",
                              function),
                       in, out),
            "");
  EXPECT_EQ(out[0], 7u);
}

// Each thread hands its number to its neighbour in the next warp through shared memory.
std::string hand_over(const std::string& barrier) {
  return "mov.u32 %t, %tid.x;\nmov.u32 %s, row;\nshl.b32 %b, %t, 2;\nadd.s32 %at, %s, %b;\nst.shared.u32 [%at], %t;\n" +
         barrier +
         "xor.b32 %b, %b, 128;\nadd.s32 %at, %s, %b;\nld.shared.u32 %v, [%at];\n"
         "mul.wide.u32 %by, %t, 8;\nadd.s64 %to, %out, %by;\ncvt.u64.u32 %wide, %v;\nst.global.u64 [%to], %wide;\n";
}

class EveryOrder : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, EveryOrder, testing::Values(Order::forward, Order::reverse, Order::random));

TEST_P(EveryOrder, ABarrierOrdersWarpsAndItsAbsenceShows) {
  const std::string row = ".shared .align 4 .b8 row[256];\n";
  std::vector<std::uint64_t> in(1), out(64), wrong(64);
  ASSERT_EQ(run_kernel(kernel(hand_over("bar.sync 0;\n"), row), in, out, {.block = 64, .order = GetParam()}),
            "");
  for (std::uint64_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], t ^ 32);
  ASSERT_EQ(run_kernel(kernel(hand_over(""), row), in, wrong, {.block = 64, .order = GetParam()}), "");
  EXPECT_NE(out, wrong);
}

TEST_P(EveryOrder, ACopyThatNobodyWaitsForIsPoison) {
  const auto copy = [](const char* wait) {
    return std::string(
               "mov.u32 %s, dynamic;\ncp.async.cg.shared.global [%s], [%in], 16, 8;\ncp.async.commit_group;\n") +
           wait +
           "ld.shared.u64 %v, [%s];\nst.global.u64 [%out], %v;\nld.shared.u64 %v, [%s+8];\nst.global.u64 [%out+8], %v;\n";
  };
  const std::string dynamic = ".extern .shared .align 16 .b8 dynamic[];\n";
  alignas(16) static std::uint64_t words[2] = {5, 6};
  std::vector<std::uint64_t> in(words, words + 2), out(2);
  if (reinterpret_cast<std::uintptr_t>(in.data()) % 16 != 0)
    GTEST_SKIP() << "the allocator does not align to 16 bytes";
  const Setting setting{.block = 1, .shared = 16, .order = GetParam()};
  ASSERT_EQ(run_kernel(kernel(copy("cp.async.wait_group 0;\n"), dynamic), in, out, setting), "");
  EXPECT_EQ(out, (std::vector<std::uint64_t>{5, 0}));
  ASSERT_EQ(run_kernel(kernel(copy(""), dynamic), in, out, setting), "");
  EXPECT_EQ(out, (std::vector<std::uint64_t>{~0ull, ~0ull}));
}

struct Wrong {
  const char* body;
  const char* message;
};
class Faults : public testing::TestWithParam<Wrong> {};
INSTANTIATE_TEST_SUITE_P(
    Each, Faults,
    testing::Values(
        Wrong{"ld.global.u64 %v, [%in+8];\n",
              "out of bounds: an address of no tensor and no scratch memory: block 0 warp 0 lane 0"},
        Wrong{"ld.global.u64 %v, [-8];\n", "out of bounds: an address of no tensor"},
        Wrong{"ld.global.u32 %v, [%in+2];\n", "misaligned: 4 bytes"},
        Wrong{"st.global.u64 [%in], 1;\n", "an input is written"},
        Wrong{"ld.global.v2.u64 {%v, %w}, [%out+8];\n", "misaligned: 16 bytes"},
        Wrong{"ld.shared.u32 %v, [%zero];\n", "shared memory, which has 0"},
        Wrong{"mov.u32 %t, %tid.x;\nsetp.lt.u32 %p, %t, 16;\n@%p bar.sync 0;\n",
              "a barrier of some lanes only"},
        Wrong{
            "mov.u32 %t, %tid.x;\nsetp.lt.u32 %p, %t, 16;\n@%p bra $a;\nbar.sync 0;\nbra $b;\n$a:\nbar.sync 0;\n$b:\n",
            "divergent barrier"},
        Wrong{
            "mov.u32 %t, %tid.x;\nsetp.lt.u32 %p, %t, 16;\n@%p ret;\nshfl.sync.bfly.b32 %v|%q, %t, 1, 31, -1;\n",
            "the mask names lane 0, which has left"},
        Wrong{"shfl.sync.bfly.b32 %v|%q, %t, 1, 31, 1;\n", "the mask leaves its caller out"},
        Wrong{
            "mov.u32 %t, %tid.x;\nsetp.lt.u32 %p, %t, 16;\n@%p bra $a;\nshfl.sync.bfly.b32 %v|%q, %t, 1, 31, -1;\n$a:\n"
            "bar.sync 0;\n",
            "deadlock"}));

TEST_P(Faults, AreFound) {
  std::vector<std::uint64_t> in(1), out(32);
  // Nothing lies between them that a fault could touch.
  const std::string fault = run_kernel(kernel("mov.u64 %zero, 0;\n" + std::string(GetParam().body)), in, out);
  EXPECT_THAT(fault, HasSubstr(GetParam().message));
}

// Not only those that cases happen to reach.
TEST(PtxInterpreter, EveryKernelOfTheBuildIsUnderstood) {
#ifndef ASSAY_PTX_FOLDER
  GTEST_SKIP() << "not run: this build has no nvcc";
#else
  std::ifstream index(ASSAY_PTX_FOLDER "/index");
  std::set<std::string> files;
  for (std::string line; std::getline(index, line);) files.insert(line.substr(0, line.find(':')));
  std::size_t kernels = 0;
  for (const std::string& file : files) {
    const auto module = Module::of_file(file);
    for (const std::string& name : module->kernels()) {
      EXPECT_NO_THROW(module->kernel(name)) << file << ": " << name;
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 400u);
#endif
}

}  // namespace
}  // namespace assay::cuda::ptx
