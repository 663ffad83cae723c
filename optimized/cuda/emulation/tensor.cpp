#include "tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace assay::cuda::emulation {
namespace {

double number_of(__half x) { return __half2float(x); }
double number_of(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
double half_of(std::uint32_t word, std::size_t k) {
  return number_of(T{static_cast<std::uint16_t>(word >> 16 * (k % 2))});
}

// Operands as numbers, and elements one by one.
template <class T>
class Terms {
 public:
  explicit Terms(const TensorOperands& of) {
    for (std::size_t k = 0; k < 16; ++k) {
      for (std::size_t i = 0; i < 16; ++i) a_[i][k] = half_of<T>(of.a[i][k / 2], k);
      for (std::size_t j = 0; j < 8; ++j) b_[j][k] = half_of<T>(of.b[k / 2][j], k);
    }
  }
  float sum(std::size_t i, std::size_t j, float d) const {
    double terms[17];
    for (std::size_t k = 0; k < 16; ++k) terms[k] = a_[i][k] * b_[j][k];
    terms[16] = static_cast<double>(d);
    return cut_off_sum(terms);
  }

 private:
  double a_[16][16], b_[8][16];
};

}  // namespace

float cut_off_sum(const double (&terms)[17]) {
  double sum = 0;  // says whether something is not finite, and which
  int largest = -2000;
  for (const double t : terms) {
    sum += t;
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(t) >> 52 & 2047) - 1023;
    if (t != 0 && exponent > largest) largest = exponent;
  }
  if (!std::isfinite(sum)) return std::isnan(sum) ? float_of(0x7fffffffu) : static_cast<float>(sum);
  if (largest == -2000) return static_cast<float>(sum);  // a zero
  const int last = largest - 24;                         // the place of the last bit that is kept
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - last) << 52);
  std::int64_t total = 0;
  for (const double t : terms) total += static_cast<std::int64_t>(t * scale);
  // Cut off to 24 bits, or to a multiple of the smallest subnormal number.
  const std::uint64_t magnitude = static_cast<std::uint64_t>(total < 0 ? -total : total);
  const int beyond = std::max({0, static_cast<int>(std::bit_width(magnitude)) - 24, -149 - last});
  const double kept = beyond > 63 ? 0 : std::ldexp(static_cast<double>(magnitude >> beyond), beyond + last);
  return static_cast<float>(total < 0 ? -kept : kept);
}

template <class T>
void tensor_product_by_terms(TensorOperands& of) {
  const Terms<T> terms(of);
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 8; ++j) of.d[i][j] = terms.sum(i, j, of.d[i][j]);
}
template void tensor_product_by_terms<__half>(TensorOperands&);
template void tensor_product_by_terms<__nv_bfloat16>(TensorOperands&);

#if defined(__x86_64__)

// A row of d at a time, as eight floats. They hold every product exactly if those of a and b are 0 or lie within 2^-60 and
// 2^61, as all finite ones of binary16 do, and are normal then. Scaled so that the largest addend has 25 bits, addends are cut
// off to integers, whose sum has 30 bits at most. Where something is out of range, or a sum might be no normal number, its
// terms are added one by one. Words of zeros are left out: they change nothing.
#define ASSAY_AVX2 __attribute__((target("avx2")))
namespace N_AVX2 {
namespace {

// Of the magnitudes of halves that are not 0: the smallest one in range, and the largest.
template <class T>
inline constexpr short kFrom = std::is_same_v<T, __half> ? 1 : (127 - 60) << 7;
template <class T>
inline constexpr short kLast = (std::is_same_v<T, __half> ? 31 << 10 : (127 + 61) << 7) - 1;

// All bits of halves that are neither 0 nor in range.
template <class T>
ASSAY_AVX2 __m256i strange(__m256i magnitudes) {
  const __m256i outside = _mm256_or_si256(_mm256_cmpgt_epi16(_mm256_set1_epi16(kFrom<T>), magnitudes),
                                          _mm256_cmpgt_epi16(magnitudes, _mm256_set1_epi16(kLast<T>)));
  return _mm256_andnot_si256(_mm256_cmpeq_epi16(magnitudes, _mm256_setzero_si256()), outside);
}

ASSAY_AVX2 unsigned lanes_of(__m256i mask) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
}
ASSAY_AVX2 unsigned lanes_not_0(__m256i x) {
  return lanes_of(_mm256_cmpeq_epi32(x, _mm256_setzero_si256())) ^ 255u;
}

// The numbers of the lower halves, which are finite.
template <class T>
ASSAY_AVX2 __m256 numbers(__m256i words) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
  } else {
    // As f32 with an exponent that is too small by 112, that of subnormal numbers, too.
    const __m256i magnitude = _mm256_slli_epi32(_mm256_and_si256(words, _mm256_set1_epi32(0x7fff)), 13);
    const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(words, _mm256_set1_epi32(0x8000)), 16);
    const __m256 number = _mm256_mul_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(0x1p112f));
    return _mm256_or_ps(number, _mm256_castsi256_ps(sign));
  }
}

ASSAY_AVX2 __m256 magnitude_of(__m256 x) {
  return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
}

// Four sums, cut off to 24 bits, of multiples of `unit`.
ASSAY_AVX2 __m128 finished(__m128i total, __m128 unit) {
  const __m256d all = _mm256_cvtepi32_pd(total);
  const __m256d kept = _mm256_and_pd(all, _mm256_castsi256_pd(_mm256_set1_epi64x(~((1ll << 29) - 1))));
  return _mm256_cvtpd_ps(_mm256_mul_pd(kept, _mm256_cvtps_pd(unit)));
}

// The sum of n addends by columns, at least one of which is not below 2^-102 or all are 0.
ASSAY_AVX2 __m256 sum(const __m256* addends, std::size_t n, __m256 largest) {
  const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(largest), 23);
  const __m256i last = _mm256_sub_epi32(exponent, _mm256_set1_epi32(24));
  const __m256 unit = _mm256_castsi256_ps(_mm256_slli_epi32(last, 23));
  const __m256 scale =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(254), last), 23));
  __m256i total = _mm256_setzero_si256();
  for (std::size_t k = 0; k < n; ++k)
    total = _mm256_add_epi32(total, _mm256_cvttps_epi32(_mm256_mul_ps(addends[k], scale)));
  return _mm256_set_m128(finished(_mm256_extracti128_si256(total, 1), _mm256_extractf128_ps(unit, 1)),
                         finished(_mm256_castsi256_si128(total), _mm256_castps256_ps128(unit)));
}

template <class T>
ASSAY_AVX2 void product(TensorOperands& of) {
  const __m256i magnitudes = _mm256_set1_epi32(0x7fff7fff);
  __m256 b[8][2];
  __m256i strange_in_columns = _mm256_setzero_si256();
  unsigned words_of_b = 0;
  for (std::size_t w = 0; w < 8; ++w) {
    const __m256i words = _mm256_load_si256(reinterpret_cast<const __m256i*>(of.b[w]));
    const __m256i magnitude = _mm256_and_si256(words, magnitudes);
    if (lanes_not_0(magnitude) != 0) words_of_b |= 1u << w;
    strange_in_columns = _mm256_or_si256(strange_in_columns, strange<T>(magnitude));
    b[w][0] = numbers<T>(words);
    b[w][1] = numbers<T>(_mm256_srli_epi32(words, 16));
  }
  const unsigned strange_columns = lanes_not_0(strange_in_columns);

  std::optional<Terms<T>> terms;
  for (std::size_t i = 0; i < 16; ++i) {
    const __m256i words = _mm256_load_si256(reinterpret_cast<const __m256i*>(of.a[i]));
    const __m256i magnitude = _mm256_and_si256(words, magnitudes);
    const __m256 d = _mm256_load_ps(of.d[i]);
    const __m256 infinity = _mm256_set1_ps(std::numeric_limits<float>::infinity());
    unsigned left = strange_columns |  // columns that are not computed together
                    lanes_of(_mm256_castps_si256(_mm256_cmp_ps(magnitude_of(d), infinity, _CMP_NLT_UQ)));
    if (lanes_not_0(strange<T>(magnitude)) != 0) left = 255;
    alignas(32) float result[8];
    if (left != 255) {
      alignas(32) float a[2][8];
      _mm256_store_ps(a[0], numbers<T>(words));
      _mm256_store_ps(a[1], numbers<T>(_mm256_srli_epi32(words, 16)));
      __m256 addends[17];
      std::size_t n = 0;
      addends[n++] = d;
      __m256 largest = magnitude_of(d);
      for (unsigned w = lanes_not_0(magnitude) & words_of_b; w != 0; w &= w - 1) {
        const auto at = static_cast<std::size_t>(std::countr_zero(w));
        for (std::size_t h = 0; h < 2; ++h) {
          const __m256 product = _mm256_mul_ps(_mm256_broadcast_ss(&a[h][at]), b[at][h]);
          largest = _mm256_max_ps(largest, magnitude_of(product));
          addends[n++] = product;
        }
      }
      if (n == 1) {
        _mm256_store_ps(result, _mm256_add_ps(d, _mm256_setzero_ps()));  // which makes 0 of -0
      } else {
        const __m256 least = _mm256_set1_ps(0x1p-102f);
        left |= lanes_of(_mm256_castps_si256(_mm256_cmp_ps(largest, least, _CMP_LT_OQ))) &
                lanes_of(_mm256_castps_si256(_mm256_cmp_ps(largest, _mm256_setzero_ps(), _CMP_GT_OQ)));
        _mm256_store_ps(result, sum(addends, n, _mm256_max_ps(largest, least)));
      }
    }
    for (; left != 0; left &= left - 1) {
      const auto j = static_cast<std::size_t>(std::countr_zero(left));
      if (!terms) terms.emplace(of);
      result[j] = terms->sum(i, j, of.d[i][j]);
    }
    std::copy_n(result, 8, of.d[i]);
  }
}

}  // namespace
}  // namespace N_AVX2
#endif

template <class T>
void tensor_product(TensorOperands& of) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("avx2") != 0;
  if (fast) return N_AVX2::product<T>(of);
#endif
  tensor_product_by_terms<T>(of);
}
template void tensor_product<__half>(TensorOperands&);
template void tensor_product<__nv_bfloat16>(TensorOperands&);

}  // namespace assay::cuda::emulation
