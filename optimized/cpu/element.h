// How elements lie in memory, and what kernels compute them in.
#pragma once

#include <cstdint>
#include <type_traits>

#include "vocabulary/dtype.h"

namespace assay::cpu {

// IEEE 754 binary16 and bfloat16, as they are stored; lanes.h gives them their meaning.
struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};

template <class T>
inline constexpr bool is_half = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

// f64 and f32 are computed in themselves, f16 and bf16 in f32.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace assay::cpu

// Runs a statement with T the element type of `dtype`: double, float, F16 or BF16. A macro and not a function
// with a lambda, because the statement must stay in a function compiled for the level.
#define ASSAY_CPU_WITH_ELEMENT(dtype, T, ...)                              \
  switch (dtype) {                                                         \
    case ::assay::Dtype::f64: {                                            \
      using T = double;                                                    \
      __VA_ARGS__;                                                         \
    } break;                                                               \
    case ::assay::Dtype::f32: {                                            \
      using T = float;                                                     \
      __VA_ARGS__;                                                         \
    } break;                                                               \
    case ::assay::Dtype::f16: {                                            \
      using T = ::assay::cpu::F16;                                         \
      __VA_ARGS__;                                                         \
    } break;                                                               \
    case ::assay::Dtype::bf16: {                                           \
      using T = ::assay::cpu::BF16;                                        \
      __VA_ARGS__;                                                         \
    } break;                                                               \
    default:                                                               \
      throw ::assay::Refused("only f64, f32, f16 and bf16 are supported"); \
  }
