// "Coverage": which blocks of the kernels' own code ran, for the terminal.
#pragma once

#include <string>

#include "result.h"
#include "style.h"

namespace assay {

// Empty for a run without --coverage.
std::string code_list(const RunResult& run, const Style& style);

}  // namespace assay
