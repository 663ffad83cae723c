// Highway for all levels of levels.h at once. The library's precompiled header (optimized/CMakeLists.txt): the compiler takes
// three seconds for it, more than for most of the kernels that include it.
#pragma once

// Only what needs a vectorised high half of a product is affected by the GCC 12 bug for which Highway shuns
// EMU128 (gcc.gnu.org/PR106322): nothing here does.
#define HWY_BROKEN_EMU128 0
#define HWY_BASELINE_TARGETS HWY_EMU128
// No kernel encrypts, and some virtual machines hide AES.
#define HWY_DISABLE_PCLMUL_AES
#ifdef ASSAY_CPU_WITHOUT_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)
#elif defined(ASSAY_CPU_WITHOUT_AVX512)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif

#pragma push_macro("HWY_TARGET_INCLUDE")  // that of the source, where this is not precompiled
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hwy/highway.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#pragma pop_macro("HWY_TARGET_INCLUDE")
