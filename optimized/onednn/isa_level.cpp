#include "isa_level.h"

#include <cpuid.h>
#include <fmt/format.h>

namespace assay::onednn {
namespace {

// AMX needs the operating system's consent for its registers: bits 17 and 18 of XCR0.
bool operating_system_saves_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3) == 3;
}

const char* lacks_amx() {  // no names for __builtin_cpu_supports in clang 14
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) d = 0;
  if ((d >> 22 & 1) == 0) return "this CPU lacks AMX BF16";
  if ((d >> 24 & 1) == 0) return "this CPU lacks AMX TILE";
  if ((d >> 25 & 1) == 0) return "this CPU lacks AMX INT8";
  return operating_system_saves_tiles() ? nullptr : "the operating system does not save AMX registers";
}

}  // namespace

// The same bits that oneDNN asks for (src/cpu/x64/cpu_isa_traits.hpp, mayiuse).
const char* lacks(const Level& level) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.1")) return "this CPU lacks SSE4.1";
  if (level.isa == dnnl::cpu_isa::sse41) return nullptr;
  if (!__builtin_cpu_supports("avx2")) return "this CPU lacks AVX2";
  if (level.isa == dnnl::cpu_isa::avx2) return nullptr;
  if (!__builtin_cpu_supports("avx512f")) return "this CPU lacks AVX-512 F";
  if (!__builtin_cpu_supports("avx512bw")) return "this CPU lacks AVX-512 BW";
  if (!__builtin_cpu_supports("avx512vl")) return "this CPU lacks AVX-512 VL";
  if (!__builtin_cpu_supports("avx512dq")) return "this CPU lacks AVX-512 DQ";
  if (level.isa == dnnl::cpu_isa::avx512_core) return nullptr;
  if (!__builtin_cpu_supports("avx512vnni")) return "this CPU lacks AVX-512 VNNI";
  if (!__builtin_cpu_supports("avx512bf16")) return "this CPU lacks AVX-512 BF16";
  if (level.isa == dnnl::cpu_isa::avx512_core_bf16) return nullptr;
  return lacks_amx();
}

std::string_view name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "SSE41";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2_VNNI";
    case dnnl::cpu_isa::avx512_core:
      return "AVX512_CORE";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX512_CORE_VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX512_CORE_BF16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX512_CORE_AMX";
    default:
      return "another ISA";
  }
}

void require(const Level& level) {
  static const dnnl::cpu_isa effective = dnnl::get_effective_cpu_isa();
  if (effective == level.isa) return;
  throw Refused(fmt::format("{} needs a fresh process with {}; oneDNN runs at {} in this one", level.kernel,
                            level.environment, name(effective)));
}

}  // namespace assay::onednn
