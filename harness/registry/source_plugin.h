// Plugins that are given as source text, "silu.c" or "silu.cu", where a shared library may be given: they are compiled on the spot.
//
//   if (is_source("silu.cu")) library = compiled("silu.cu", this_program());
//
// C by $CC or cc, C++ by $CXX or c++, CUDA by $NVCC or nvcc, optimised, with the headers of this Assay; $CFLAGS, or $CXXFLAGS for the other
// two, come after Assay's own flags. The library lies in a folder that goes with this process.
#pragma once

#include <string>

namespace assay {

bool is_source(const std::string& path);

// The library's path; of one source the same in this process. `program` is the path of the running executable. Throws std::runtime_error
// with what the compiler said.
std::string compiled(const std::string& path, const std::string& program);

}  // namespace assay
