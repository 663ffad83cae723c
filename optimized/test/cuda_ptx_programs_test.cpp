// Kernels of branches and loops that are drawn, as PTX, against the same statement by statement: that lanes that part meet
// again, that they find each other in operations of a warp, and that registers which share a row keep their numbers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cuda/emulation/regions.h"
#include "cuda/ptx/module.h"
#include "cuda/ptx/run.h"

namespace assay::cuda::ptx {
namespace {

constexpr std::uint32_t kVariables = 8, kLanes = 32;
using Variables = std::array<std::uint32_t, kVariables>;

struct Statement;
using Statements = std::vector<Statement>;

// a = b op c, under the condition that d is odd if there is one; or, by d, one of two blocks; or a block as often as two bits
// of d say. Or together: a = b of another lane that executes the block, or of those among them of which d is as odd, or not; or
// the lanes among them of which d is odd.
struct Statement {
  enum Kind { compute, compute_if, exchange, exchange_in_parts, vote, choose, repeat } kind;
  std::uint32_t a, b, c, d;
  const char* operation;
  std::uint32_t by;  // lanes
  Statements one, other;

  bool is_together() const { return kind == exchange || kind == exchange_in_parts || kind == vote; }
};

bool has_together(const Statements& block) {
  return std::any_of(block.begin(), block.end(), [](const Statement& s) {
    return s.is_together() || has_together(s.one) || has_together(s.other);
  });
}

// Any from `first` to below `end`, small programs not more often than large ones.
std::uint32_t draw(std::uint32_t first, std::uint32_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, end));
}

Statements draw_block(int depth, bool together) {
  using S = Statement;
  constexpr S::Kind kKinds[] = {S::choose,     S::repeat,   S::compute,           S::compute_if, S::compute,
                                S::compute_if, S::exchange, S::exchange_in_parts, S::vote};
  Statements block;
  for (std::uint32_t n = draw(1, 6); n > 0; --n) {
    Statement s{};
    s.kind = kKinds[draw(depth == 0 ? 2 : 0, together ? 9 : 4)];
    s.a = draw(0, kVariables), s.b = draw(0, kVariables), s.c = draw(0, kVariables),
    s.d = draw(0, kVariables);
    constexpr const char* kOperations[] = {"add.u32", "sub.u32", "xor.b32", "mul.lo.u32"};
    constexpr const char* kShuffles[] = {"up", "down", "bfly", "idx"};
    s.operation = s.is_together() ? kShuffles[draw(0, 4)] : kOperations[draw(0, 4)];
    s.by = draw(0, kLanes);
    if (s.kind >= S::choose) s.one = draw_block(depth - 1, together);
    if (s.kind == S::choose) s.other = draw_block(depth - 1, together);
    block.push_back(s);
  }
  return block;
}

// As nvcc writes it: every result is a register of its own, but for variables, of which there are few. Where lanes do something
// together, a register has the mask of those that execute the block.
class Writer {
 public:
  std::string text;

  void block(const Statements& statements, const std::string& mask) {
    for (const Statement& s : statements) s.is_together() ? together(s, mask) : statement(s, mask);
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
  // The lanes of the mask of which the predicate is true, and those of which it is not.
  std::pair<std::string, std::string> parted(const std::string& predicate, const std::string& mask) {
    const std::string yes = fresh("%t"), no = fresh("%t");
    line("vote.sync.ballot.b32 " + yes + ", " + predicate + ", " + mask);
    line("xor.b32 " + no + ", " + yes + ", " + mask);
    return {yes, no};
  }

  void together(const Statement& s, const std::string& mask) {
    const std::string odd = s.kind == Statement::exchange ? "" : is_odd(v(s.d));
    if (s.kind == Statement::vote) return line("vote.sync.ballot.b32 " + v(s.a) + ", " + odd + ", " + mask);
    std::string own = mask;
    if (s.kind == Statement::exchange_in_parts) {
      const auto [yes, no] = parted(odd, mask);
      line("selp.b32 " + (own = fresh("%t")) + ", " + yes + ", " + no + ", " + odd);
    }
    const std::string operation = s.operation, result = fresh("%t");
    line("shfl.sync." + operation + ".b32 " + result + "|" + fresh("%p") + ", " + v(s.b) + ", " +
         std::to_string(s.by) + (operation == "up" ? ", 0, " : ", 31, ") + own);
    line("mov.u32 " + v(s.a) + ", " + result);
  }

  void statement(const Statement& s, std::string mask) {
    const std::string result = fresh("%t");
    if (s.kind == Statement::compute) {
      line(s.operation + (" " + result) + ", " + v(s.b) + ", " + v(s.c));
      line("mov.u32 " + v(s.a) + ", " + result);
    } else if (s.kind == Statement::compute_if) {
      line("@" + is_odd(v(s.d)) + " " + s.operation + " " + v(s.a) + ", " + v(s.b) + ", " + v(s.c));
    } else if (s.kind == Statement::choose) {
      const std::string other = fresh("$other"), end = fresh("$end"), odd = is_odd(v(s.d));
      const bool needs_masks = has_together(s.one) || has_together(s.other);
      const auto [yes, no] = needs_masks ? parted(odd, mask) : std::pair{mask, mask};
      line("@!" + odd + " bra " + other);
      block(s.one, yes);
      line("bra.uni " + end);
      text += other + ":\n";
      block(s.other, no);
      text += end + ":\n";
    } else {
      const std::string begin = fresh("$begin"), end = fresh("$end"), left = fresh("%p"), next = fresh("%t");
      line("and.b32 " + result + ", " + v(s.d) + ", 3");
      const bool needs_mask = has_together(s.one);
      if (needs_mask) line("mov.u32 " + fresh("%t") + ", " + mask), mask = "%t" + std::to_string(count_);
      text += begin + ":\n";
      line("setp.ne.u32 " + left + ", " + result + ", 0");
      if (needs_mask) line("vote.sync.ballot.b32 " + mask + ", " + left + ", " + mask);
      line("@!" + left + " bra " + end);
      block(s.one, mask);
      line("sub.u32 " + next + ", " + result + ", 1");
      line("mov.u32 " + result + ", " + next);
      line("bra.uni " + begin);
      text += end + ":\n";
    }
  }

  int count_ = 0;
};

using Lanes = std::array<Variables, kLanes>;

template <class F>
std::uint32_t lanes_where(std::uint32_t mask, F is) {
  std::uint32_t lanes = 0;
  for (std::uint32_t l = 0; l < kLanes; ++l)
    if ((mask >> l & 1) != 0 && is(l)) lanes |= 1u << l;
  return lanes;
}

// PTX ISA, shfl.sync, of whole warps.
std::uint32_t lane_of_shuffle(const std::string& mode, std::uint32_t lane, std::uint32_t by) {
  if (mode == "up") return lane >= by ? lane - by : lane;
  if (mode == "down") return lane + by < kLanes ? lane + by : lane;
  return mode == "bfly" ? lane ^ by : by;
}

// The same by the lanes of a mask, all of them one statement after another.
void execute(const Statements& block, std::uint32_t mask, Lanes& v) {
  for (const Statement& s : block) {
    const std::string operation = s.operation;
    const Lanes old = v;
    const std::uint32_t odd = lanes_where(mask, [&](std::uint32_t l) { return old[l][s.d] % 2 == 1; });
    if (s.kind == Statement::choose) {
      execute(s.one, odd, v);
      execute(s.other, mask & ~odd, v);
      continue;
    }
    if (s.kind == Statement::repeat) {
      for (std::uint32_t n = 0; n < 3; ++n)
        execute(s.one, lanes_where(mask, [&](std::uint32_t l) { return old[l][s.d] % 4 > n; }), v);
      continue;
    }
    lanes_where(mask, [&](std::uint32_t l) {
      const std::uint32_t b = old[l][s.b], c = old[l][s.c], from = lane_of_shuffle(operation, l, s.by);
      const bool is_odd = (odd >> l & 1) != 0;
      const std::uint32_t group = s.kind == Statement::exchange ? mask : is_odd ? odd : mask & ~odd;
      std::uint32_t& a = v[l][s.a];
      if (s.kind == Statement::vote)
        a = odd;
      else if (s.is_together())
        a = (group >> from & 1) != 0 ? old[from][s.b] : ~0u;  // undefined: the interpreter's poison
      else if (s.kind == Statement::compute || is_odd)
        a = operation == "add.u32"   ? b + c
            : operation == "sub.u32" ? b - c
            : operation == "xor.b32" ? b ^ c
                                     : b * c;
      return true;
    });
  }
}

std::string kernel_of(const Statements& block) {
  Writer w;
  w.text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<50000>;\n"
      ".reg .b32 %t<50000>;\n.reg .b32 %v<9>;\n.reg .b64 %a<4>;\nld.param.u64 %a0, [p0];\nmov.u32 %v8, %tid.x;\nmov.u32 %t0, -1;\n"
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
  w.block(block, "%t0");
  each("st.global.u32", true);
  return w.text + "ret;\n}\n";
}

void check_a_program() {
  const Statements block = draw_block(3, draw(0, 2) != 0);
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
  Lanes v;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    std::copy_n(&start[lane * kVariables], kVariables, v[lane].begin());
  execute(block, ~0u, v);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) RC_ASSERT(memory[lane * kVariables] == v[lane][0]);
}

// A hundred times, and ten each time: of some faults of share_rows() a program in fifty tells.
RC_GTEST_PROP(PtxPrograms, DoWhatTheirStatementsSay, ()) {
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

// What blocks of one thread, of which there are two, leave in memory.
std::vector<std::uint32_t> run_in_two_blocks(Module& module) {
  std::vector<std::uint32_t> memory(4);
  const void* const pointer = memory.data();
  const emulation::Argument argument = {&pointer, sizeof pointer};
  emulation::regions().add(memory.data(), memory.size() * 4, true);
  run(*module.kernel("k"), {.grid = 2, .block = 1, .argument_list = &argument, .argument_count = 1}, {});
  emulation::regions().forget(memory.data());
  return memory;
}

// A register that block 0 writes and block 1 only reads is ~0 there, though both, and what has its row later, run in one warp.
TEST(PtxRows, WhatNobodyHasWrittenIsPoisonInEveryBlock) {
  Module module(
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n.reg .pred %p;\n"
      ".reg .b64 %a<4>;\n.reg .b32 %t<4>;\nld.param.u64 %a0, [p0];\nmov.u32 %t0, %ctaid.x;\n"
      "mul.wide.u32 %a1, %t0, 4;\nadd.s64 %a2, %a0, %a1;\nsetp.eq.u32 %p, %t0, 0;\n@%p mov.u32 %t1, 5;\n"
      "st.global.u32 [%a2], %t1;\nmov.u32 %t2, 7;\nst.global.u32 [%a2+8], %t2;\nret;\n}\n");
  EXPECT_EQ(run_in_two_blocks(module), (std::vector<std::uint32_t>{5, ~0u, 7, 7}));
}

// The same where the rows of a program are too many to share them: branches go backwards, each to the one before, a hundred times.
TEST(PtxRows, WhatNobodyHasWrittenIsPoisonInEveryBlockWithoutSharedRows) {
  std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n.reg .pred %p;\n"
      ".reg .b64 %a<4>;\n.reg .b32 %t<4>;\nld.param.u64 %a0, [p0];\nmov.u32 %t0, %ctaid.x;\n"
      "mul.wide.u32 %a1, %t0, 4;\nadd.s64 %a2, %a0, %a1;\nsetp.eq.u32 %p, %t0, 0;\n@%p mov.u32 %t1, 5;\n"
      "bra.uni $b100;\n$b0:\nst.global.u32 [%a2], %t1;\nbra.uni $end;\n";
  for (int k = 1; k <= 100; ++k)
    text += "$b" + std::to_string(k) + ":\nbra.uni $b" + std::to_string(k - 1) + ";\n";
  Module module(text + "$end:\nret;\n}\n");
  EXPECT_EQ(run_in_two_blocks(module), (std::vector<std::uint32_t>{5, ~0u, 0, 0}));
}

}  // namespace
}  // namespace assay::cuda::ptx
