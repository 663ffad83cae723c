// How threads get at elements: of what memory, one by one or in vectors, and in what type.
#pragma once

#include "element.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <int inputs>
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

// Whether memory of that dtype holds T, integers of any dtype being computed as i64.
template <class T>
bool holds(Dtype type) {
  if (is_integer<T>) return type == Dtype::i64;
  return is_float(type) && bytes(type) == sizeof(T) &&
         (type == Dtype::bf16) == std::is_same_v<T, __nv_bfloat16>;
}

// Calls f(T{}) with what elements of that dtype are reduced as: integers as i64, whose low bits are theirs.
template <class F>
void with_reduced(Dtype type, F&& f) {
  if (is_float(type))
    with_floating_point(type, f);
  else
    f(std::int64_t{});
}

// A result as an element of `type`, which for floating point holds T.
template <class T>
__device__ __forceinline__ void store_as(void* data, Dtype type, std::int64_t i, Compute<T> value) {
  if constexpr (!is_integer<T>) {
    static_cast<T*>(data)[i] = narrowed<T>(value);
  } else {
    switch (type) {
      case Dtype::i64:
        static_cast<std::int64_t*>(data)[i] = value;
        break;
      case Dtype::i32:
        static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value);
        break;
      case Dtype::i16:
        static_cast<std::int16_t*>(data)[i] = static_cast<std::int16_t>(value);
        break;
      default:
        static_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(value);
    }
  }
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
