// A kernel of PTX, ready to be interpreted: functions are inlined, and every operand is a row of registers, one for each
// lane of a warp; constants are rows, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::cuda::ptx {

inline constexpr std::uint32_t kWarp = 32;

class Warp;
struct Instruction;

// What an instruction does to the lanes of a mask.
using Handler = void (*)(Warp& warp, const Instruction& instruction, std::uint32_t lanes);

// How the interpreter goes on after an instruction. What waits does so until all lanes of its mask have come.
enum class Flow : std::uint8_t { next, branch, exit, block_barrier, warp_barrier };

enum class StateSpace : std::uint8_t { generic, global, shared, local, param };

struct Instruction {
  Handler run = nullptr;
  Flow flow = Flow::next;
  StateSpace space = StateSpace::generic;
  std::uint8_t vector = 1;   // registers that a load or a store moves
  std::uint8_t control = 0;  // what the handler wants to know of modifiers: a comparison, a count
  bool guard_negated = false;
  std::int32_t guard = -1;                 // the row of its predicate, or -1
  std::int32_t target = -1;                // of a branch
  std::int32_t mask = -1;                  // the row that holds the mask of warp_barrier, or -1: all lanes
  std::array<std::int64_t, 2> offset{};    // of addresses
  std::uint8_t written = 0, operands = 0;  // rows that are destinations; all rows
  // Destinations first: at most the 14 of mma.m16n8k16.
  std::array<std::int32_t, 14> row{};
  std::int32_t text = 0;    // Program::texts
  std::int32_t place = -1;  // Program::places
};

struct Special {  // a row that holds what a block or a thread is
  enum class Kind : std::uint8_t { tid, ntid, ctaid, nctaid, laneid };
  Kind kind;
  std::uint8_t dimension;
  std::int32_t row;
};

struct Constant {
  std::int32_t row;
  std::uint64_t value;
};

struct Parameter {
  std::string name;
  std::size_t offset, bytes;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  std::vector<Special> specials;
  std::vector<std::int32_t> unwritten;  // rows that may be read where nobody has written: ~0 when a block begins
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;  // of static variables; dynamic ones begin at a multiple of 16 after them
  std::size_t local_bytes = 0;   // of each lane
  std::int32_t rows = 0;
  std::vector<std::string> texts;   // instructions as nvcc wrote them
  std::vector<std::string> places;  // "optimized/cuda/reduce.h:40"
};

}  // namespace assay::cuda::ptx
