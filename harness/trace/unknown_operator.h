// What is known of operators that Assay does not have, by their names in a trace ("copy_", "index_put.hacked_twin").
#pragma once

#include <string>

namespace assay {

// Whose numbers are drawn: no engine's are PyTorch's.
bool is_random(const std::string& op);

// Whose results are numbers that it was given, so that no rounding is a reason for others.
bool only_moves(const std::string& op);

// What it writes to, it does not read.
bool overwrites(const std::string& op);

}  // namespace assay
