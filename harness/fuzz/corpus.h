// Inputs to begin with: a target's seeds, and those that libFuzzer kept because they reached something new, in
// corpus/TARGET.txt, one a line. A line is an input as it stands in a string of C.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "target.h"

namespace assay::fuzz {

std::vector<std::string> corpus(const Target& target);

std::string line(std::string_view input);
std::string input_of(std::string_view line);

}  // namespace assay::fuzz
