// What this CPU can run.
#pragma once

namespace assay::cpu {

// What the CPU, or its operating system, lacks for the level: "this CPU lacks FMA"; or nullptr.
const char* lacks_avx2();
const char* lacks_avx512();

}  // namespace assay::cpu
