// The instructions of PTX that are interpreted: what each does to the lanes of a warp, by its name.
#pragma once

#include <string_view>
#include <vector>

#include "program.h"

namespace assay::cuda::ptx {

// Sets the handler, flow, space, vector and control of `instruction` from the parts of its name: {"add", "rn", "f32"}.
// False if it is none that is interpreted.
bool choose_operation(const std::vector<std::string_view>& parts, Instruction& instruction);

// Parts of it, by subject. Each returns null for what is not its own.
Handler arithmetic_handler(const std::vector<std::string_view>& parts, Instruction& instruction);
Handler bits_handler(const std::vector<std::string_view>& parts, Instruction& instruction);
Handler comparison_handler(const std::vector<std::string_view>& parts, Instruction& instruction);
Handler conversion_handler(const std::vector<std::string_view>& parts, Instruction& instruction);
Handler memory_handler(const std::vector<std::string_view>& parts, Instruction& instruction);
Handler warp_handler(const std::vector<std::string_view>& parts, Instruction& instruction);

}  // namespace assay::cuda::ptx
