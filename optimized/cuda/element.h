// How elements lie in memory, what kernels compute them in, and the conversions between.
//
// f64 is computed in itself, f32, f16 and bf16 in f32, integers in 64 bits that wrap: their low bits are those of any
// narrower dtype.
#pragma once

#include <stdexcept>
#include <type_traits>

#include "device.h"
#include "vocabulary/dtype.h"
#include "vocabulary/kernel.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;
template <class T>
inline constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <class T>
using Compute = std::conditional_t<is_integer<T>, std::int64_t,
                                   std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class T>
__device__ __forceinline__ Compute<T> widened(T x) {
  if constexpr (std::is_same_v<T, __half>)
    return __half2float(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __bfloat162float(x);
  else
    return static_cast<Compute<T>>(x);
}

// x in f32 such that rounding that to a half format is rounding x itself: to odd, if it is not exact (Boldo and Melquiond
// 2008; f32 has the more than two bits more that it takes).
__device__ __forceinline__ float to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  if (back == x || x != x || (__float_as_uint(nearest) & 1) != 0) return nearest;
  // The neighbour on the other side of x, which is odd. An infinity here came from rounding: its neighbour is odd, too.
  const bool away = (back < x) == (x > 0);
  return __uint_as_float(__float_as_uint(nearest) + (away ? 1u : ~0u));
}

// Rounded once, to nearest even; integers wrap.
template <class T>
__device__ __forceinline__ T narrowed(float x) {
  if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16_rn(x);
  else
    return static_cast<T>(x);
}
template <class T>
__device__ __forceinline__ T narrowed(double x) {
  if constexpr (is_half<T>)
    return narrowed<T>(to_odd(x));
  else
    return static_cast<T>(x);
}
template <class T>
__device__ __forceinline__ T narrowed(std::int64_t x) {
  if constexpr (is_half<T>) {
    // f32 holds what is not an infinity in binary16, and f64 rounds what it does not hold to odd by one more bit.
    const double nearest = static_cast<double>(x);
    const double rest = nearest >= 0x1p63 ? -1.0 : static_cast<double>(x - static_cast<std::int64_t>(nearest));
    const float odd = to_odd(nearest);
    if (rest != 0 && static_cast<double>(odd) == nearest && (__float_as_uint(odd) & 1) == 0)
      return narrowed<T>(__uint_as_float(__float_as_uint(odd) + ((rest > 0) == (x > 0) ? 1u : ~0u)));
    return narrowed<T>(odd);
  } else {
    return static_cast<T>(x);
  }
}

// Element `i` of memory of any dtype, converted to T, as what T is computed in.
template <class T>
__device__ inline Compute<T> load_as(const void* data, Dtype type, std::int64_t i) {
  switch (type) {
    case Dtype::f64: return widened(narrowed<T>(static_cast<const double*>(data)[i]));
    case Dtype::f32: return widened(narrowed<T>(static_cast<const float*>(data)[i]));
    case Dtype::f16: return widened(narrowed<T>(widened(static_cast<const __half*>(data)[i])));
    case Dtype::bf16: return widened(narrowed<T>(widened(static_cast<const __nv_bfloat16*>(data)[i])));
    case Dtype::i64: return widened(narrowed<T>(static_cast<const std::int64_t*>(data)[i]));
    case Dtype::i32:
      return widened(narrowed<T>(static_cast<std::int64_t>(static_cast<const std::int32_t*>(data)[i])));
    case Dtype::i16:
      return widened(narrowed<T>(static_cast<std::int64_t>(static_cast<const std::int16_t*>(data)[i])));
    case Dtype::i8:
      return widened(narrowed<T>(static_cast<std::int64_t>(static_cast<const std::int8_t*>(data)[i])));
    default:
      return widened(narrowed<T>(static_cast<std::int64_t>(static_cast<const std::uint8_t*>(data)[i])));
  }
}

// The same, if the dtype that it is converted to, one of those computed in C, is known when it runs. A function that is called:
// kernels for mixed dtypes are many, and stay small.
template <class C>
__device__ __attribute__((noinline)) C load_converted(const void* data, Dtype type, Dtype to, std::int64_t i) {
  if constexpr (std::is_same_v<C, double>) {
    return load_as<double>(data, type, i);
  } else if constexpr (std::is_same_v<C, float>) {
    switch (to) {
      case Dtype::f16: return load_as<__half>(data, type, i);
      case Dtype::bf16: return load_as<__nv_bfloat16>(data, type, i);
      default: return load_as<float>(data, type, i);
    }
  } else {
    switch (to) {
      case Dtype::i64: return load_as<std::int64_t>(data, type, i);
      case Dtype::i32: return load_as<std::int32_t>(data, type, i);
      case Dtype::i16: return load_as<std::int16_t>(data, type, i);
      case Dtype::i8: return load_as<std::int8_t>(data, type, i);
      default: return load_as<std::uint8_t>(data, type, i);
    }
  }
}

// Writes element `i` of memory of one of the dtypes that are computed in C.
template <class C>
__device__ inline void store_as(void* data, Dtype type, std::int64_t i, C x) {
  if constexpr (std::is_same_v<C, double>) {
    static_cast<double*>(data)[i] = x;
  } else if constexpr (std::is_same_v<C, float>) {
    switch (type) {
      case Dtype::f16: static_cast<__half*>(data)[i] = narrowed<__half>(x); break;
      case Dtype::bf16: static_cast<__nv_bfloat16*>(data)[i] = narrowed<__nv_bfloat16>(x); break;
      default: static_cast<float*>(data)[i] = x;
    }
  } else {
    switch (type) {
      case Dtype::i64: static_cast<std::int64_t*>(data)[i] = x; break;
      case Dtype::i32: static_cast<std::int32_t*>(data)[i] = narrowed<std::int32_t>(x); break;
      case Dtype::i16: static_cast<std::int16_t*>(data)[i] = narrowed<std::int16_t>(x); break;
      default: static_cast<std::uint8_t*>(data)[i] = narrowed<std::uint8_t>(x);
    }
  }
}

// Calls f(T{}) with the type of elements of that dtype; bool is read as u8.
template <class F>
void with_floating_point(Dtype type, F&& f) {
  switch (type) {
    case Dtype::f64: return f(double{});
    case Dtype::f32: return f(float{});
    case Dtype::f16: return f(__half{});
    case Dtype::bf16: return f(__nv_bfloat16{});
    default: throw Refused("only f64, f32, f16 and bf16 are supported");
  }
}
template <class F>
void with_integer(Dtype type, F&& f) {
  switch (type) {
    case Dtype::i64: return f(std::int64_t{});
    case Dtype::i32: return f(std::int32_t{});
    case Dtype::i16: return f(std::int16_t{});
    case Dtype::i8: return f(std::int8_t{});
    case Dtype::u8:
    case Dtype::boolean: return f(std::uint8_t{});
    default: throw Refused("only integers are supported");
  }
}
template <class F>
void with_element(Dtype type, F&& f) {
  if (is_float(type))
    with_floating_point(type, f);
  else
    with_integer(type, f);
}
// With integers of as many bytes, for operators that move elements and do not look at them.
template <class F>
void with_bits(Dtype type, F&& f) {
  switch (bytes(type)) {
    case 8: return f(std::int64_t{});
    case 4: return f(std::int32_t{});
    case 2: return f(std::int16_t{});
    default: return f(std::uint8_t{});
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
