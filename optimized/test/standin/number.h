// Elements of tensors in memory, for the libraries that stand in for NVIDIA's in tests.
#pragma once

#if __has_include(<cuda_fp16.h>)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace standin {

enum class Format : std::uint8_t { f64, f32, f16, bf16 };

// Every number of every format is one of f64.
inline double load(const void* data, Format format, std::int64_t i) {
  switch (format) {
    case Format::f64:
      return static_cast<const double*>(data)[i];
    case Format::f32:
      return static_cast<const float*>(data)[i];
    case Format::f16:
      return __half2float(static_cast<const __half*>(data)[i]);
    default:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  }
}

// T is the format that was computed in: f64 for f64, else f32.
template <class T>
void store(void* data, Format format, std::int64_t i, T value) {
  switch (format) {
    case Format::f64:
      static_cast<double*>(data)[i] = value;
      break;
    case Format::f32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case Format::f16:
      static_cast<__half*>(data)[i] = __float2half_rn(static_cast<float>(value));
      break;
    default:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(static_cast<float>(value));
  }
}

// A factor, which is f64 for f64, else f32.
inline double factor(const void* value, Format format) {
  return format == Format::f64 ? *static_cast<const double*>(value) : *static_cast<const float*>(value);
}

// Calls f with a number of the format that `format` is computed in.
template <class F>
auto in_compute_format(Format format, F f) {
  return format == Format::f64 ? f(double{}) : f(float{});
}

}  // namespace standin

#endif
