#include "features.h"

#include <cpuid.h>

namespace assay::cpu {
namespace {

bool has_f16c() {  // no name for __builtin_cpu_supports in clang 14
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace

// __builtin_cpu_supports answers for the operating system too: it looks at XCR0.
const char* lacks_avx2() {
#ifdef ASSAY_CPU_WITHOUT_AVX2
  return "this build leaves AVX2 out (ASSAY_AVX2)";
#endif
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return "this CPU lacks AVX2";
  if (!__builtin_cpu_supports("fma")) return "this CPU lacks FMA";
  if (!has_f16c()) return "this CPU lacks F16C";
  if (!__builtin_cpu_supports("bmi")) return "this CPU lacks BMI1";
  if (!__builtin_cpu_supports("bmi2")) return "this CPU lacks BMI2";
  return nullptr;
}

const char* lacks_avx512() {
#ifdef ASSAY_CPU_WITHOUT_AVX512
  return "this build leaves AVX-512 out (ASSAY_AVX512)";
#endif
  if (const char* lacks = lacks_avx2()) return lacks;
  if (!__builtin_cpu_supports("avx512f")) return "this CPU lacks AVX-512 F";
  if (!__builtin_cpu_supports("avx512vl")) return "this CPU lacks AVX-512 VL";
  if (!__builtin_cpu_supports("avx512dq")) return "this CPU lacks AVX-512 DQ";
  if (!__builtin_cpu_supports("avx512bw")) return "this CPU lacks AVX-512 BW";
  return nullptr;
}

}  // namespace assay::cpu
