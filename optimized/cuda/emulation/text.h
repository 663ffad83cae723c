// Places and names in messages.
#pragma once

#include <string>

#include "launch.h"

namespace assay::cuda::emulation {

// "optimized/cuda/reduce.h:40"
std::string text(Location where);
// A kernel's name as its author wrote it, without arguments.
std::string demangled(const char* kernel);

}  // namespace assay::cuda::emulation
