// Kernels of branches and loops that are drawn, as PTX, against the same by each lane alone: that lanes that part meet again,
// and that registers which share a row keep their numbers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cuda/emulation/regions.h"
#include "cuda/ptx/module.h"
#include "cuda/ptx/run.h"

namespace assay::cuda::ptx {
namespace {

constexpr std::uint32_t kVariables = 8, kLanes = 32;
using Variables = std::array<std::uint32_t, kVariables>;

struct Statement;
using Block = std::vector<Statement>;

// a = b op c, under the condition that d is odd if there is one; or, by d, one of two blocks; or a block as often as two bits
// of d say.
struct Statement {
  enum Kind { compute, compute_if, choose, repeat } kind;
  std::uint32_t a, b, c, d;
  const char* operation;
  Block one, other;
};

// Any from `first` to below `end`, small programs not more often than large ones.
std::uint32_t draw(std::uint32_t first, std::uint32_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, end));
}

Block draw_block(int depth) {
  Block block;
  for (std::uint32_t n = draw(1, 6); n > 0; --n) {
    Statement s{};
    s.kind = static_cast<Statement::Kind>(draw(0, depth == 0 ? 2 : 4));
    s.a = draw(0, kVariables), s.b = draw(0, kVariables), s.c = draw(0, kVariables),
    s.d = draw(0, kVariables);
    constexpr const char* kOperations[] = {"add.u32", "sub.u32", "xor.b32", "mul.lo.u32"};
    s.operation = kOperations[draw(0, 4)];
    if (s.kind >= Statement::choose) s.one = draw_block(depth - 1);
    if (s.kind == Statement::choose) s.other = draw_block(depth - 1);
    block.push_back(s);
  }
  return block;
}

// As nvcc writes it: every result is a register of its own, but for variables, of which there are few.
class Writer {
 public:
  std::string text;

  void block(const Block& statements) {
    for (const Statement& s : statements) statement(s);
  }

 private:
  static std::string v(std::uint32_t which) { return "%v" + std::to_string(which); }
  std::string fresh(const char* prefix) { return prefix + std::to_string(++count_); }
  void line(const std::string& s) { text += s + ";\n"; }

  std::string is_odd(const std::string& value) {
    const std::string bit = fresh("%t"), odd = fresh("%p");
    line("and.b32 " + bit + ", " + value + ", 1");
    line("setp.ne.u32 " + odd + ", " + bit + ", 0");
    return odd;
  }

  void statement(const Statement& s) {
    const std::string result = fresh("%t");
    if (s.kind == Statement::compute) {
      line(s.operation + (" " + result) + ", " + v(s.b) + ", " + v(s.c));
      line("mov.u32 " + v(s.a) + ", " + result);
    } else if (s.kind == Statement::compute_if) {
      line("@" + is_odd(v(s.d)) + " " + s.operation + " " + v(s.a) + ", " + v(s.b) + ", " + v(s.c));
    } else if (s.kind == Statement::choose) {
      const std::string other = fresh("$other"), end = fresh("$end");
      line("@!" + is_odd(v(s.d)) + " bra " + other);
      block(s.one);
      line("bra.uni " + end);
      text += other + ":\n";
      block(s.other);
      text += end + ":\n";
    } else {
      const std::string begin = fresh("$begin"), end = fresh("$end"), left = fresh("%p"), next = fresh("%t");
      line("and.b32 " + result + ", " + v(s.d) + ", 3");
      text += begin + ":\n";
      line("setp.eq.u32 " + left + ", " + result + ", 0");
      line("@" + left + " bra " + end);
      block(s.one);
      line("sub.u32 " + next + ", " + result + ", 1");
      line("mov.u32 " + result + ", " + next);
      line("bra.uni " + begin);
      text += end + ":\n";
    }
  }

  int count_ = 0;
};

void execute(const Block& block, Variables& v) {
  for (const Statement& s : block) {
    const std::string operation = s.operation;
    const std::uint32_t b = v[s.b], c = v[s.c];
    if (s.kind == Statement::compute || (s.kind == Statement::compute_if && v[s.d] % 2 == 1))
      v[s.a] = operation == "add.u32"   ? b + c
               : operation == "sub.u32" ? b - c
               : operation == "xor.b32" ? b ^ c
                                        : b * c;
    if (s.kind == Statement::choose) execute(v[s.d] % 2 == 1 ? s.one : s.other, v);
    if (s.kind == Statement::repeat)
      for (std::uint32_t n = v[s.d] % 4; n > 0; --n) execute(s.one, v);
  }
}

std::string kernel_of(const Block& block) {
  Writer w;
  w.text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<5000>;\n"
      ".reg .b32 %t<5000>;\n.reg .b32 %v<9>;\n.reg .b64 %a<4>;\nld.param.u64 %a0, [p0];\nmov.u32 %v8, %tid.x;\n"
      "mul.wide.u32 %a1, %v8, " +
      std::to_string(4 * kVariables) + ";\nadd.s64 %a2, %a0, %a1;\n";
  // Only the first one is stored: others are needed for a while.
  const auto each = [&](const char* name, bool stores) {
    for (std::uint32_t k = 0; k < (stores ? 1 : kVariables); ++k) {
      const std::string at = "[%a2+" + std::to_string(4 * k) + "]", variable = "%v" + std::to_string(k);
      w.text += std::string(name) + " " + (stores ? at + ", " + variable : variable + ", " + at) + ";\n";
    }
  };
  each("ld.global.u32", false);
  w.block(block);
  each("st.global.u32", true);
  return w.text + "ret;\n}\n";
}

void check_a_program() {
  const Block block = draw_block(3);
  const auto start = *rc::gen::container<std::vector<std::uint32_t>>(kLanes * kVariables,
                                                                     rc::gen::arbitrary<std::uint32_t>());
  const std::string text = kernel_of(block);
  RC_LOG() << text;
  std::vector<std::uint32_t> memory = start;
  const void* const pointer = memory.data();
  const emulation::Argument argument = {&pointer, sizeof pointer};
  Module module(text);
  emulation::regions().add(memory.data(), memory.size() * 4, true);
  run(*module.kernel("k"), {.grid = 1, .block = kLanes, .argument_list = &argument, .argument_count = 1}, {});
  emulation::regions().forget(memory.data());
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    Variables v;
    std::copy_n(&start[lane * kVariables], kVariables, v.begin());
    execute(block, v);
    RC_ASSERT(memory[lane * kVariables] == v[0]);
  }
}

// A hundred times, and ten each time: of some faults of share_rows() a program in fifty tells.
RC_GTEST_PROP(PtxPrograms, DoWhatEachLaneDoesAlone, ()) {
  for (int k = 0; k < 10; ++k) check_a_program();
}

// A chain of a thousand results, of which one is needed at a time.
TEST(PtxRows, AreSharedByWhatIsNotNeededTogether) {
  std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n.reg .b32 %t<1002>;\n"
      "mov.u32 %t0, 1;\n";
  for (int k = 1; k <= 1000; ++k)
    text += "add.u32 %t" + std::to_string(k) + ", %t" + std::to_string(k - 1) + ", 1;\n";
  Module module(text + "ret;\n}\n");
  EXPECT_LE(module.kernel("k")->rows, 4);  // the number 1, and two that take turns
}

// A register that block 0 writes and block 1 only reads is ~0 there, though both, and what has its row later, run in one warp.
TEST(PtxRows, WhatNobodyHasWrittenIsPoisonInEveryBlock) {
  Module module(
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n.reg .pred %p;\n"
      ".reg .b64 %a<4>;\n.reg .b32 %t<4>;\nld.param.u64 %a0, [p0];\nmov.u32 %t0, %ctaid.x;\n"
      "mul.wide.u32 %a1, %t0, 4;\nadd.s64 %a2, %a0, %a1;\nsetp.eq.u32 %p, %t0, 0;\n@%p mov.u32 %t1, 5;\n"
      "st.global.u32 [%a2], %t1;\nmov.u32 %t2, 7;\nst.global.u32 [%a2+8], %t2;\nret;\n}\n");
  std::vector<std::uint32_t> memory(4);
  const void* const pointer = memory.data();
  const emulation::Argument argument = {&pointer, sizeof pointer};
  emulation::regions().add(memory.data(), memory.size() * 4, true);
  run(*module.kernel("k"), {.grid = 2, .block = 1, .argument_list = &argument, .argument_count = 1}, {});
  emulation::regions().forget(memory.data());
  EXPECT_EQ(memory, (std::vector<std::uint32_t>{5, ~0u, 7, 7}));
}

}  // namespace
}  // namespace assay::cuda::ptx
