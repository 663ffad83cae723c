// Which operands an instruction takes.
#pragma once

#include <string_view>
#include <vector>

#include "program.h"

namespace assay::cuda::ptx {

// A letter for each operand, in their order:
//
//   d  a register that is written        s  what is read: a register, a number, a variable's address
//   p  "d|p" of shfl: two of those       a  an address in brackets
//   D  as many d as Instruction::vector says, in braces if more than one; and S
//
// A digit after d or s: as many of them, in braces. Null for what is not interpreted. `parts` as choose_operation()
// takes them, which has set `instruction`.
const char* operands_of(const std::vector<std::string_view>& parts, const Instruction& instruction);

}  // namespace assay::cuda::ptx
