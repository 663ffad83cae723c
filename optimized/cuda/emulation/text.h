// Places and names in messages.
#pragma once

#include <string>

#include "launch.h"

namespace assay::cuda::emulation {

// "optimized/cuda/reduce.h:40"
std::string text(Location where);
// The same of what addr2line -i prints: the innermost place, and the outermost one if that is in another file.
std::string place_of_frames(const std::string& lines);
// "block 1", or "block (1, 2)" where there are more dimensions.
std::string name_of_block(uint3 block);
// "block 1 thread 3", of blocks of that shape.
std::string name_of_thread(uint3 block, dim3 shape, unsigned thread);
// A kernel's name as its author wrote it, without arguments.
std::string demangled(const char* kernel);

}  // namespace assay::cuda::emulation
