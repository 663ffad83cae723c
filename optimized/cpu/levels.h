// The instruction set levels that every kernel of this folder is compiled for, from one source.
//
// A stem begins with
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "cpu/relu.cpp"
//   #include "levels.h"
//
// which compiles the rest of the file once for each level (Highway's foreach_target). Code between
// HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE(), in namespace HWY_NAMESPACE, may use the level's
// instructions; everything else, templates of the standard library and static initialisers included, is plain
// x86-64. That is what keeps AVX code off lesser CPUs: ci/check_isa proves it from the object files.
//
//   cpu.baseline   Highway's EMU128: loops over 16 bytes, which the compiler turns into SSE2; no FMA
//   cpu.avx2       HWY_AVX2: AVX2, FMA, F16C, BMI1, BMI2
//   cpu.avx512     HWY_AVX3: the above with AVX-512 F, VL, DQ, BW
#pragma once

#include "contracts.h"
#include "features.h"
#include "vocabulary/kernel.h"

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

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

namespace assay::cpu {

// "optimized/cpu/relu.cpp:30" from "/somewhere/optimized/cpu/relu.cpp:30".
consteval const char* from_optimized(const char* path) {
  const std::string_view text = path;
  const std::size_t at = text.rfind("optimized/");
  return at == std::string_view::npos ? path : path + at;
}

}  // namespace assay::cpu

#define ASSAY_CPU_TEXT_(x) #x
#define ASSAY_CPU_TEXT(x) ASSAY_CPU_TEXT_(x)

// The entries of a table of kernels: `function` of every level, for operator `op`, under one contract.
#define ASSAY_CPU_LEVELS(op, function, contract_text)                                             \
  ASSAY_CPU_LEVEL(op, N_EMU128::function, "cpu.baseline", nullptr, contract_text),                \
      ASSAY_CPU_LEVEL(op, N_AVX2::function, "cpu.avx2", ::assay::cpu::lacks_avx2, contract_text), \
      ASSAY_CPU_LEVEL(op, N_AVX3::function, "cpu.avx512", ::assay::cpu::lacks_avx512, contract_text)

#define ASSAY_CPU_LEVEL(op, function, name, lacks, contract_text) \
  ::assay::kernel<op, function>(                                  \
      name, {.contract = contract_text,                           \
             .unavailable = lacks,                                \
             .source = ::assay::cpu::from_optimized(__FILE__ ":" ASSAY_CPU_TEXT(__LINE__))})
