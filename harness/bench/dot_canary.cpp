#include "dot_canary.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ASSAY_DOT_PRODUCTS 1
#endif

namespace assay {

#ifdef ASSAY_DOT_PRODUCTS

namespace {

// Chains, as many as cover the latency of six cycles on two units.
constexpr int kChains = 12;

// What the compiler cannot know: neither what goes in nor that nobody reads what comes out.
template <class Vector>
[[gnu::always_inline]] inline void unknown(Vector& v) {
  asm volatile("" : "+m"(v));
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]] double of_bf16(std::int64_t repeats) {
  __m512bh x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f803f80)), y = x;  // ones
  __m512 sum[kChains];
  for (__m512& s : sum) s = _mm512_setzero_ps();
  unknown(x);
  unknown(y);
  for (std::int64_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 12
    for (__m512& s : sum) s = _mm512_dpbf16_ps(s, x, y);
  }
  for (__m512& s : sum) unknown(s);
  return 2.0 * 32 * kChains * static_cast<double>(repeats);
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]] double of_bytes(std::int64_t repeats) {
  __m512i x = _mm512_set1_epi8(1), y = x;
  __m512i sum[kChains];
  for (__m512i& s : sum) s = _mm512_setzero_si512();
  unknown(x);
  unknown(y);
  for (std::int64_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 12
    for (__m512i& s : sum) s = _mm512_dpbusd_epi32(s, x, y);
  }
  for (__m512i& s : sum) unknown(s);
  return 2.0 * 64 * kChains * static_cast<double>(repeats);
}

}  // namespace

bool has_dot_products(Dtype of) {
  if (of == Dtype::bf16) return __builtin_cpu_supports("avx512bf16") != 0;
  return (of == Dtype::u8 || of == Dtype::i8) && __builtin_cpu_supports("avx512vnni") != 0;
}

double dot_products(Dtype of, std::int64_t repeats) {
  return of == Dtype::bf16 ? of_bf16(repeats) : of_bytes(repeats);
}

#else

bool has_dot_products(Dtype) { return false; }
double dot_products(Dtype, std::int64_t) { return 0; }

#endif

}  // namespace assay
