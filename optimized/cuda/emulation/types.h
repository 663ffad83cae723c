// The types of CUDA that kernels use, for a C++ compiler: indices, vectors of numbers, binary16 and bfloat16.
//
// Names, sizes and alignment are CUDA's (vector_types.h, cuda_fp16.h, cuda_bf16.h), so that arguments of kernels lie in
// memory as those of compiled ones do.
#pragma once

#include <cstdint>
#include <cstring>

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1)
      : x(width), y(height), z(depth) {}
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace assay::cuda::emulation {

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// To nearest, ties to even; NaN becomes the NaN that the GPU gives.
inline std::uint16_t bfloat16_bits(float x) {
  const std::uint32_t bits = bits_of(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

inline std::uint16_t binary16_bits(float x) {
  std::uint32_t bits = bits_of(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return 0x7fff;
  if (bits >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // from 65520
  if (bits >= 0x38800000u) {                                                   // normal
    bits -= 0x38000000u;
    bits += 0xfffu + (bits >> 13 & 1);
    return static_cast<std::uint16_t>(sign | bits >> 13);
  }
  if (bits < 0x33000000u) return static_cast<std::uint16_t>(sign);  // below half of the smallest number
  const std::uint32_t significand = (bits & 0x7fffffu) | 0x800000u;
  const std::uint32_t shift = 126 - (bits >> 23);
  std::uint32_t result = significand >> shift;
  const std::uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (result & 1) != 0)) ++result;
  return static_cast<std::uint16_t>(sign | result);
}

inline float of_binary16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 31u, significand = bits & 1023u;
  if (exponent == 31) return float_of(sign | 0x7f800000u | significand << 13);
  if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | significand << 13);
  const float magnitude = static_cast<float>(significand) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace assay::cuda::emulation

struct alignas(2) __half {
  std::uint16_t bits;
};
struct alignas(2) __nv_bfloat16 {
  std::uint16_t bits;
};

inline float __half2float(__half x) { return assay::cuda::emulation::of_binary16(x.bits); }
inline __half __float2half_rn(float x) { return {assay::cuda::emulation::binary16_bits(x)}; }
inline float __bfloat162float(__nv_bfloat16 x) {
  return assay::cuda::emulation::float_of(static_cast<std::uint32_t>(x.bits) << 16);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return {assay::cuda::emulation::bfloat16_bits(x)}; }
