// What the reader of PTX turns down, by line and by what stands there. What it takes: cuda_ptx_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cuda/ptx/module.h"

namespace assay::cuda::ptx {
namespace {

using ::testing::HasSubstr;

// A kernel whose body begins in line 5, after `outside`.
std::string read_kernel(const std::string& body, const std::string& outside = "") {
  return ".version 9.0\n.target sm_80\n" + outside +
         ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{ .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<2>;\n" +
         body + "\nret;\n}\n";
}

// The message, or "" where all of it is taken.
std::string objection(const std::string& text) {
  try {
    Module module(text);
    for (const std::string& name : module.kernels()) module.kernel(name);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

struct Bad {
  const char* text;
  const char* message;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }

class Files : public testing::TestWithParam<Bad> {};
TEST_P(Files, AreTurnedDownByLineAndToken) { EXPECT_EQ(objection(GetParam().text), GetParam().message); }
INSTANTIATE_TEST_SUITE_P(
    Each, Files,
    testing::Values(Bad{"", "line 1: no PTX: it is empty: \"\""},
                    Bad{"\n\n", "line 1: no PTX: it is empty: \"\""},
                    Bad{"garbage", "line 1: no PTX: it does not begin with .version: \"garbage\""},
                    Bad{".version 9\n.entry k() { ret;", "line 2: a bracket has no }: \"{\""},
                    Bad{".version 9\n.entry k()\n)", "line 3: a word is missing: \")\""},
                    Bad{".version 9\n.entry k()", "line 2: a word is missing: \"\""},
                    Bad{".version 9\n\n.global .b8 x;", "line 3: PTX that is not interpreted: \".global\""},
                    Bad{".version 9\n.shared .b8 x", "line 2: there is no ; after: \" .b8 x\""},
                    Bad{".version 9\n.file x \"a\"\n",
                        "line 2: a file without a number and a name: \".file\""},
                    Bad{".version 9\n.func f() { ret; }\n.func f() { ret; }",
                        "line 3: two functions have one name: \"f\""},
                    Bad{".version 9\n.entry _Z1kIfEvv() { ret; }\n.entry _Z1kIfEvi() { ret; }",
                        "line 3: two kernels have one name without their arguments: \"_Z1kIfEvi\""},
                    Bad{".version 9\n.entry k(.param .u64 p,\n .param .u65 q) { ret; }",
                        "line 3: a declaration that is not understood: \".param .u65 q\""},
                    Bad{".version 9\n.entry k(.param .align 3 .b8 p[4]) { ret; }",
                        "line 2: a declaration that is not understood: \".param .align 3 .b8 p[4]\""},
                    Bad{".version 9\n.entry k(.param .b8 p[99999999]) { ret; }",
                        "line 2: more than 32764 bytes of parameters: \"p\""},
                    Bad{".version 9\n.shared .b8 x[200000];\n.shared .b64 y[9999];\n.entry k() { ret; }",
                        "line 3: more than 232448 bytes of shared memory: \"y\""},
                    Bad{".version 9\n.entry k() {\n.local .b64 x[99999]; ret; }",
                        "line 3: more than 524288 bytes of local memory: \"x\""}));

class Bodies : public testing::TestWithParam<Bad> {};
TEST_P(Bodies, AreTurnedDownByLineAndToken) {
  EXPECT_EQ(objection(read_kernel(GetParam().text)), std::string("line 5: ") + GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(
    Each, Bodies,
    testing::Values(
        Bad{"tex.2d.v4.f32.f32 %r0, %r1;", "PTX that is not interpreted: \"tex.2d.v4.f32.f32 %r0, %r1\""},
        Bad{"bra $nowhere;", "there is no such label: \"$nowhere\""},
        Bad{"$a: $a:", "a label that is there twice: \"$a\""},
        Bad{"bra;", "another number of operands than it has: \"bra\""},
        Bad{"mov.u64 %d0, nothing;", "what is not declared is used: \"nothing\""},
        Bad{"add.s32 %r0, %r1, %r9;", "what is not declared is used: \"%r9\""},
        Bad{"add.s32 %r9, %r1, %r1;", "what is written is no register that is declared: \"%r9\""},
        // Rows of constants and of %tid are written by nobody: another instruction would read what is left there.
        Bad{"add.s32 7, %r1, %r1;", "what is written is no register that is declared: \"7\""},
        Bad{"mov.u32 %tid.x, %r1;", "what is written is no register that is declared: \"%tid.x\""},
        Bad{"mov.u32 %r0, %smid;", "what is not declared is used: \"%smid\""},
        Bad{"mov.u32 %r0, %tid.w;", "what is not declared is used: \"%tid.w\""},
        Bad{"add.rn.f32 %r0, , %r1;", "an operand is missing: \"add.rn.f32 %r0, , %r1\""},
        Bad{"add.s32 %r0, %r1;", "another number of operands than it has: \"add.s32 %r0, %r1\""},
        Bad{"add.s32 %r0, %r1, %r2, %r3;",
            "another number of operands than it has: \"add.s32 %r0, %r1, %r2, %r3\""},
        Bad{"ld.global.v2.u32 %r0, [%d0];", "no vector of 2: \"%r0\""},
        Bad{"ld.global.v2.u32 {%r0, %r1, %r2}, [%d0];", "no vector of 2: \"{%r0, %r1, %r2}\""},
        Bad{"ld.global.u32 %r0, %d0;", "no address: \"%d0\""},
        Bad{"ld.global.u32 %r0, [%d0+x];", "an address with no number after its +: \"%d0+x\""},
        Bad{"mov.b32 {%r0, %r1, %r2}, %r3;", "PTX that is not interpreted: \"mov.b32 {%r0, %r1, %r2}, %r3\""},
        Bad{"mov.b32 %r0, 0x1G;", "no number: \"0x1G\""},
        Bad{"mov.f32 %r0, 0f3F80;", "no number: \"0f3F80\""}, Bad{"mov.b32 %r0, 08;", "no number: \"08\""},
        Bad{"mov.b32 %r0, 0b2;", "no number: \"0b2\""}, Bad{"mov.b32 %r0, -;", "no number: \"-\""},
        Bad{"mov.b64 %d0, 18446744073709551616;", "no number: \"18446744073709551616\""},
        Bad{"mov.b64 %d0, -9223372036854775809;", "no number: \"-9223372036854775809\""},
        Bad{"add.banana.s32 %r0, %r1, %r2;", "PTX that is not interpreted: \"add.banana.s32 %r0, %r1, %r2\""},
        Bad{"add.sat.f32 %r0, %r1, %r2;", "PTX that is not interpreted: \"add.sat.f32 %r0, %r1, %r2\""},
        Bad{"shfl.sync.any.b32 %r0, %r1, 1, 31, -1;",
            "PTX that is not interpreted: \"shfl.sync.any.b32 %r0, %r1, 1, 31, -1\""},
        Bad{"setp.eq.s32 %p0|%p1, 1, 2;", "what is written is no register that is declared: \"%p0|%p1\""},
        Bad{"bar.sync 0, 64;", "another number of operands than it has: \"bar.sync 0, 64\""},
        Bad{"bar.sync 1;", "PTX that is not interpreted: \"bar.sync 1\""},
        Bad{"barrier.cta.sync.aligned %r0;", "PTX that is not interpreted: \"barrier.cta.sync.aligned %r0\""},
        Bad{"cvt.rn.sat.bf16.f32 %r0, %r1;", "PTX that is not interpreted: \"cvt.rn.sat.bf16.f32 %r0, %r1\""},
        Bad{"rcp.approx.f64 %d0, %d1;", "PTX that is not interpreted: \"rcp.approx.f64 %d0, %d1\""},
        Bad{"cp.async.cg.shared.global [%d0], [%d1], 8;",
            "PTX that is not interpreted: \"cp.async.cg.shared.global [%d0], [%d1], 8\""},
        Bad{"@%r20 ret;", "what is written is no register that is declared: \"%r20\""},
        Bad{"@%p0;", "an instruction is missing: \"@%p0\""},
        Bad{"@;", "what is written is no register that is declared: \"\""},
        Bad{"mov.u32 %r0, {%r1;}", "PTX that is not interpreted: \"mov.u32 %r0, {%r1\""},
        Bad{"add.s32 %r0,;", "an operand is missing: \"add.s32 %r0,\""},
        Bad{".reg .b65 %x;", "a declaration that is not understood: \".reg .b65 %x\""},
        Bad{".reg .b32 x, x;", "a register that is declared twice: \"x\""},
        Bad{".loc 1", "a .loc without a file and a line: \"1\""},
        Bad{".const .b8 x;", "PTX that is not interpreted: \".const .b8 x\""},
        Bad{"call.uni nobody;", "a function that is not there is called: \"nobody\""},
        Bad{"{ .param .b32 a; ld.param.b32 %r0, [a]; }",
            "an argument is read that nobody has written: \"ld.param.b32 %r0, [a]\""},
        Bad{"{ .param .b64 a; st.param.v2.b32 [a], {%r0, %r1}; ld.param.b64 %d0, [a]; }",
            "a part of an argument has another size elsewhere: \"ld.param.b64 %d0, [a]\""},
        Bad{"{ .param .b64 a; st.param.b64 [a], %d0; ld.param.b32 %r0, [a+4]; }",
            "a part of an argument has another size elsewhere: \"ld.param.b32 %r0, [a+4]\""},
        Bad{"{ .param .b64 a; st.param.b64 [a], %d0; st.param.b32 [a], %r0; }",
            "a part of an argument has another size elsewhere: \"st.param.b32 [a], %r0\""},
        Bad{"{ .param .b64 a; st.param.b32 [a+4], %r0; st.param.b64 [a], %d0; }",
            "a part of an argument has another size elsewhere: \"st.param.b64 [a], %d0\""}));

TEST(PtxReader, TakesWhatNvccWritesAroundIt) {
  EXPECT_EQ(objection(read_kernel(
                "// nothing; }\n.pragma \"nounroll\";\n{ .reg .b32 inner; mov.u32 inner, %laneid; }\n",
                ".file 1 \"//a.cu\"\n.extern .func (.param .b32 r) vprintf(.param .b64 a);\n"
                ".section .debug { .b8 1 }\n")),
            "");
}

// Each calls the next one twice: 2^n instructions.
std::string doubling(int n) {
  std::string text = ".version 9.0\n.func f0() { .reg .b32 %r<2>; add.s32 %r0, %r1, 1; ret; }\n";
  for (int k = 1; k <= n; ++k)
    text += ".func f" + std::to_string(k) + "() { call.uni f" + std::to_string(k - 1) + "; call.uni f" +
            std::to_string(k - 1) + "; ret; }\n";
  return text + ".entry k() { call.uni f" + std::to_string(n) + "; ret; }\n";
}

TEST(PtxReader, EndsWhereFunctionsCallEachOther) {
  EXPECT_EQ(objection(doubling(8)), "");
  EXPECT_THAT(objection(doubling(18)), HasSubstr("a kernel that is too long"));
  EXPECT_EQ(objection(".version 9\n.func f() { call.uni f; ret; }\n.entry k() {\ncall.uni f; ret; }"),
            "line 2: functions that call each other without end: \"f\"");
}

// Of these, none has a ; after it. Was one looked for each time, there would be no waiting for it.
TEST(PtxReader, ALongKernelIsReadOnce) {
  const auto kernel = [](const std::string& body) {
    return objection(".version 9\n.file 1 \"a\"\n.entry k() {\n" + body + "}\n");
  };
  std::string braces, lines, labels;
  for (int i = 0; i < 1 << 21; ++i) braces += "{ }\n";
  for (int i = 0; i < 1 << 20; ++i) lines += ".loc 1 7 0\n";
  for (int i = 0; i < 1 << 20; ++i) labels += "$L" + std::to_string(i) + ":\n";
  EXPECT_EQ(kernel(braces), "");
  EXPECT_EQ(kernel(lines), "");
  EXPECT_EQ(kernel(labels), "");
}

TEST(PtxReader, KernelsOfAFileAreNamedWithIt) {
  EXPECT_THAT([] { Module::of_file("/nowhere.ptx"); },
              testing::ThrowsMessage<std::runtime_error>("/nowhere.ptx: cannot be read"));
}

}  // namespace
}  // namespace assay::cuda::ptx
