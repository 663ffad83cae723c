// The instruction set levels that every kernel of this folder is compiled for, from one source.
//
// A stem begins with
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "cpu/mm.cpp"
//   #include "levels.h"
//
// which compiles the rest of the file once for each level (as Highway's foreach_target does). Code between
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
#include "highway_levels.h"
#include "vocabulary/kernel.h"

// What Highway's foreach_target does, but with Highway already there for all levels: the file that includes this one is
// read once for each level but the baseline, and again when this header ends. ASSAY_CPU_TOGGLE, in the guards of headers
// that are compiled for each level, changes from one to the next.
#undef HWY_ONCE
#define HWY_ONCE 0

#if (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET != HWY_AVX2
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include "hwy/ops/set_macros-inl.h"
#include HWY_TARGET_INCLUDE
#define ASSAY_CPU_TOGGLE
#endif

#if (HWY_TARGETS & HWY_AVX3) && HWY_STATIC_TARGET != HWY_AVX3
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3
#include "hwy/ops/set_macros-inl.h"
#include HWY_TARGET_INCLUDE
#undef ASSAY_CPU_TOGGLE
#endif

#undef HWY_TARGET
#define HWY_TARGET HWY_STATIC_TARGET
#include "hwy/ops/set_macros-inl.h"
#undef HWY_ONCE
#define HWY_ONCE 1

namespace assay::cpu {

// "optimized/cpu/mm.cpp:30" from "/somewhere/optimized/cpu/mm.cpp:30".
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

// The same of a functor that `driver`, a template, makes a kernel of; both stand in namespace HWY_NAMESPACE.
#define ASSAY_CPU_FUNCTOR(op, driver, functor, contract_text)                                        \
  ASSAY_CPU_LEVEL(op, N_EMU128::driver<N_EMU128::functor>, "cpu.baseline", nullptr, contract_text),  \
      ASSAY_CPU_LEVEL(op, N_AVX2::driver<N_AVX2::functor>, "cpu.avx2", ::assay::cpu::lacks_avx2,     \
                      contract_text),                                                                \
      ASSAY_CPU_LEVEL(op, N_AVX3::driver<N_AVX3::functor>, "cpu.avx512", ::assay::cpu::lacks_avx512, \
                      contract_text)

#define ASSAY_CPU_LEVEL(op, function, name, lacks, contract_text) \
  ::assay::kernel<op, function>(                                  \
      name, {.contract = contract_text,                           \
             .unavailable = lacks,                                \
             .source = ::assay::cpu::from_optimized(__FILE__ ":" ASSAY_CPU_TEXT(__LINE__))})
