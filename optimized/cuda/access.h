// How threads get at elements: of what memory, one by one or in vectors, and in what type.
#pragma once

#include "element.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <std::size_t inputs>
struct Sources {
  const void* data[inputs];
  Dtype type[inputs];
};

// How a thread gets the elements that it takes one after the other.
enum class Access : std::int32_t {
  strided,  // one by one, neighbours by neighbouring threads
  pieces,   // neighbours of 16 bytes in all by one thread, although they start anywhere
  vectors,  // the same, at multiples of 16 bytes
};

template <class T>
inline constexpr Dtype dtype_that_is = std::is_same_v<T, double>          ? Dtype::f64
                                       : std::is_same_v<T, float>         ? Dtype::f32
                                       : std::is_same_v<T, __half>        ? Dtype::f16
                                       : std::is_same_v<T, __nv_bfloat16> ? Dtype::bf16
                                                                          : Dtype::i64;

// Element `i` of memory of any dtype, converted to T first. Conversions are a call, so that loops that load much stay small.
template <class T>
__device__ __forceinline__ Compute<T> load_one(const void* data, Dtype type, std::int64_t i) {
  if (type == dtype_that_is<T>) return widened(static_cast<const T*>(data)[i]);
  return load_converted<Compute<T>>(data, type, dtype_that_is<T>, i);
}

// Calls f(T{}) with what elements of that dtype are reduced as: integers as i64, whose low bits are theirs.
template <class F>
void with_reduced(Dtype type, F&& f) {
  if (is_float(type))
    with_floating_point(type, f);
  else
    f(std::int64_t{});
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
