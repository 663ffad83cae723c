// Every kernel against what the machine can do: operations a second over operations for each byte, under the ceilings of
// arithmetic and of each level of memory. Kernels without arithmetic are drawn by their bytes a second.
#pragma once

#include <string>

#include "bench_file.h"

namespace assay {

// Of one core: what ran on several is divided by their number. Empty if nothing was measured.
std::string roofline_chart(const BenchmarkFile& file);

}  // namespace assay
