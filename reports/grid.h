// The grid of a run: for each operator one line a kernel and one cell a dtype.
#pragma once

#include <string>

#include "row.h"
#include "style.h"

namespace assay {

std::string grid(const RunResult& run, const Rules& rules, const Style& style);

}  // namespace assay
