// Models of the tensor cores and of the instructions that feed them, with the layouts of registers of the PTX ISA.
//
// PTX leaves open how a tensor core rounds. The model does what GPUs since sm_80 were measured to do at the least (Fasi,
// Higham, Mikaitis and Pranesh 2021): products are exact, all addends of one instruction are cut off below the 25th bit of
// the largest, their sum is exact and is cut off to f32. So code that relies on rounding to nearest there shows.
//
// A copy is queued: until it is waited for its destination is poison, and the source is read as late as can be, so that a
// missing wait, and a source that changes before it, show.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "cuda.h"

namespace assay::cuda::emulation {

struct MatrixRows {
  unsigned* result;
  const void* row;
  bool transposed;
};

ASSAY_EMULATION inline void load_matrices(unsigned (&r)[4], const void* row, bool transposed,
                                          Location where) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) fail("ldmatrix: a row begins at no multiple of 16");
  checker_access(row, 16, false, false, __builtin_return_address(0));
  MatrixRows slot{r, row, transposed};
  wait_for_warp(
      transposed ? "ldmatrix.trans" : "ldmatrix", ~0u, &slot,
      [](void* const* slots, unsigned) ASSAY_EMULATION {
        for (std::size_t lane = 0; lane < 32; ++lane) {
          const auto& mine = *static_cast<MatrixRows*>(slots[lane]);
          for (std::size_t j = 0; j < 4; ++j)
            for (std::size_t h = 0; h < 2; ++h) {
              std::size_t i = lane / 4, k = lane % 4 * 2 + h;
              if (mine.transposed) std::swap(i, k);
              const void* const from = static_cast<MatrixRows*>(slots[j * 8 + i])->row;
              std::memcpy(reinterpret_cast<char*>(&mine.result[j]) + 2 * h,
                          static_cast<const char*>(from) + 2 * k, 2);
            }
        }
      },
      where);
}

inline double number_of(__half x) { return __half2float(x); }
inline double number_of(__nv_bfloat16 x) { return __bfloat162float(x); }

// c + the sum of products, as above.
ASSAY_EMULATION inline float cut_off_sum(const double (&terms)[17]) {
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

// d += a b by each lane's registers, of m16n8k16.
template <class T>
ASSAY_EMULATION void tensor_product(float (&d)[32][4], const unsigned (&a)[32][4],
                                    const unsigned (&b)[32][2]) {
  double a_of[16][16], b_of[8][16];
  const auto half = [](unsigned bits, std::size_t h) ASSAY_EMULATION {
    const auto which = static_cast<std::uint16_t>(bits >> 16 * h);
    return number_of(std::bit_cast<T>(which));
  };
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t group = lane / 4, pair = lane % 4 * 2;
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t r = 0; r < 4; ++r) a_of[group + r % 2 * 8][pair + h + r / 2 * 8] = half(a[lane][r], h);
      for (std::size_t r = 0; r < 2; ++r) b_of[group][pair + h + r * 8] = half(b[lane][r], h);
    }
  }
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 4; ++i) {
      const double* const row = a_of[lane / 4 + i / 2 * 8];
      const double* const column = b_of[lane % 4 * 2 + i % 2];
      double terms[17];
      for (std::size_t k = 0; k < 16; ++k) terms[k] = row[k] * column[k];
      terms[16] = static_cast<double>(d[lane][i]);
      d[lane][i] = cut_off_sum(terms);
    }
}

struct Product {
  float* d;
  const unsigned* a;
  unsigned b[2];
};

template <class T>
ASSAY_EMULATION void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                  Location where) {
  Product slot{d, a, {b0, b1}};
  wait_for_warp(
      "mma.m16n8k16", ~0u, &slot,
      [](void* const* slots, unsigned) ASSAY_EMULATION {
        unsigned a_of[32][4], b_of[32][2];
        float d_of[32][4];
        for (std::size_t lane = 0; lane < 32; ++lane) {
          const Product& mine = *static_cast<Product*>(slots[lane]);
          std::copy_n(mine.a, 4, a_of[lane]);
          std::copy_n(mine.b, 2, b_of[lane]);
          std::copy_n(mine.d, 4, d_of[lane]);
        }
        tensor_product<T>(d_of, a_of, b_of);
        for (std::size_t lane = 0; lane < 32; ++lane)
          std::copy_n(d_of[lane], 4, static_cast<Product*>(slots[lane])->d);
      },
      where);
}

void copy_async(void* shared, const void* global, int bytes, const void* caller);
void end_copies();
void wait_for_copies(int groups);

}  // namespace assay::cuda::emulation
