// What this CPU can run.
#pragma once

namespace assay::cpu {

// What the CPU, or its operating system, lacks for the level: "this CPU lacks FMA"; or nullptr.
const char* lacks_avx2();
const char* lacks_avx512();

// Kernels that are left out stand in the table all the same, as ones that cannot run.
#ifdef ASSAY_CPU_WITHOUT_AVX2
namespace N_EMU128 {}
namespace N_AVX2 = N_EMU128;
#endif
#ifdef ASSAY_CPU_WITHOUT_AVX512
#ifndef ASSAY_CPU_WITHOUT_AVX2
namespace N_AVX2 {}
#endif
namespace N_AVX3 = N_AVX2;
#endif

}  // namespace assay::cpu
