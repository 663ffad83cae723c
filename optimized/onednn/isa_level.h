// The instruction sets that oneDNN is run under. It reads its cap once, so each level needs a process of its
// own: the same function stands in the table once for each, with another environment.
//
//   onednn.sse41         SSE4.1                                        f32
//   onednn.avx2          AVX2                                          f32
//   onednn.avx512        AVX-512 F, CD, BW, DQ, VL                     f32, and bf16 by emulation
//   onednn.avx512_bf16   the above with AVX-512 VNNI and BF16          bf16; f32 as onednn.avx512
//   onednn.amx           the above with AMX TILE, INT8 and BF16        bf16; only matrix products use it
#pragma once

#include <array>
#include <dnnl.hpp>
#include <string>
#include <string_view>

#include "vocabulary/kernel.h"

namespace assay::onednn {

struct Level {
  const char* kernel;  // name in the table
  const char* environment;
  dnnl::cpu_isa isa;
  bool bf16_only;
};

inline constexpr Level kSse41{"onednn.sse41", "ONEDNN_MAX_CPU_ISA=SSE41", dnnl::cpu_isa::sse41, false};
inline constexpr Level kAvx2{"onednn.avx2", "ONEDNN_MAX_CPU_ISA=AVX2", dnnl::cpu_isa::avx2, false};
inline constexpr Level kAvx512{"onednn.avx512", "ONEDNN_MAX_CPU_ISA=AVX512_CORE", dnnl::cpu_isa::avx512_core,
                               false};
inline constexpr Level kAvx512Bf16{"onednn.avx512_bf16", "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16",
                                   dnnl::cpu_isa::avx512_core_bf16, true};
inline constexpr Level kAmx{"onednn.amx", "ONEDNN_MAX_CPU_ISA=AVX512_CORE_AMX",
                            dnnl::cpu_isa::avx512_core_amx, true};

// What this CPU or its operating system lacks for the level, or nullptr.
const char* lacks(const Level& level);

std::string_view name(dnnl::cpu_isa isa);  // "AVX512_CORE"

// Throws Refused unless this process runs oneDNN at this level.
void require(const Level& level);

// `function`, a kernel whose first parameter is a level, at one level.
template <const Level& level, auto function>
struct At;
template <const Level& level, class... P, void (*function)(const Level&, P...)>
struct At<level, function> {
  static void run(P... p) { function(level, p...); }
  static const char* lacks() { return onednn::lacks(level); }
};

// Clauses of a contract, one a line.
template <const std::string_view&... clauses>
struct Joined {
  static constexpr auto text = [] {
    std::array<char, (clauses.size() + ... + sizeof...(clauses))> all{};
    std::size_t n = 0;
    const auto append = [&](std::string_view clause) {
      if (n > 0) all[n++] = '\n';
      for (const char c : clause) all[n++] = c;
    };
    (append(clauses), ...);
    return all;
  }();
};
template <const std::string_view&... clauses>
inline constexpr const char* kJoined = Joined<clauses...>::text.data();

// Of bf16 results where the CPU has bf16.
inline constexpr std::string_view kFlushedStore =
    "bf16: ftz=yes -- VCVTNEPS2BF16 stores results, and reads subnormal numbers as zero (Intel SDM)";

// While one lives, this thread's operations stop before they run: they only say whether they could.
class AskingOnly {
 public:
  AskingOnly();
  ~AskingOnly();
  AskingOnly(const AskingOnly&) = delete;
  AskingOnly& operator=(const AskingOnly&) = delete;
};

// The table's `refuses`: oneDNN is asked for the primitive, which a call that follows finds in the cache.
template <const Operator& op, auto run>
int refuses(const assay_call* call) {
  constexpr assay_kernel asked = kernel<op, run>("");
  const AskingOnly only;
  return asked.run(call);
}

// The entry of the table.
template <const Operator& op, auto function, const Level& level>
consteval assay_kernel kernel_at(const char* contract, const char* source) {
  using Here = At<level, function>;
  return kernel<op, Here::run>(level.kernel, {.contract = contract,
                                              .refuses = refuses<op, Here::run>,
                                              .unavailable = Here::lacks,
                                              .source = source,
                                              .environment = level.environment,
                                              .flags = ASSAY_PEER});
}

}  // namespace assay::onednn
