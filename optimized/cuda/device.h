// What kernels are written in: CUDA C++, or the same read by a C++ compiler, which runs it on the processor (emulation/).
// Everything of this folder includes CUDA through this header alone.
//
// A kernel of this folder keeps these rules, so that both readings mean the same:
//   - shared memory is declared by ASSAY_SHARED and ASSAY_SHARED_DYNAMIC, and a launch is a call of launch<kernel>()
//     (call.h);
//   - accesses of more than one element go through load_vector and store_vector;
//   - kernels and what they are instantiated with have names: no lambdas, nothing in unnamed namespaces, for they are
//     found by name in compiled code;
//   - integers have fixed widths; nothing relies on lanes going in lock-step; masks name exactly the lanes that come;
//   - a multiplication and an addition are fused where fma() says so, and nowhere else (nvcc --fmad=false), so that the
//     bits of an element do not depend on the code around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#if defined(ASSAY_CUDA_GPU)  // by nvcc, and by a C++ compiler in what only calls CUDA

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define ASSAY_CUDA_BACKEND gpu
#define ASSAY_UNROLL _Pragma("unroll")
#define ASSAY_ROLLED _Pragma("unroll 1")
#define ASSAY_SHARED(T, name, ...) __shared__ T name __VA_ARGS__
#define ASSAY_SHARED_DYNAMIC(T, name)                                     \
  extern __shared__ __align__(16) unsigned char assay_dynamic_shared_[]; \
  T* name = reinterpret_cast<T*>(assay_dynamic_shared_)

#else

#include "emulation/cuda.h"

#define ASSAY_CUDA_BACKEND emulated
#define ASSAY_UNROLL
#define ASSAY_ROLLED
#define ASSAY_SHARED(T, name, ...)                                                              \
  static const char assay_key_##name = 0;                                                       \
  using assay_type_##name = T __VA_ARGS__;                                                      \
  assay_type_##name& name = *static_cast<assay_type_##name*>(::assay::cuda::emulation::shared_variable( \
      &assay_key_##name, sizeof(assay_type_##name), #name))
#define ASSAY_SHARED_DYNAMIC(T, name) \
  T* name = static_cast<T*>(::assay::cuda::emulation::dynamic_shared_memory())

#endif

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Elements that a thread reads or writes at once: 16 bytes, the widest access, or a smaller power of two. A pointer must be
// a multiple of as many.
template <class T, int n = 16 / static_cast<int>(sizeof(T))>
struct alignas(n * sizeof(T)) Vector {
  static constexpr int size = n;
  T element[n];
};

#if defined(ASSAY_CUDA_GPU)
template <std::size_t bytes>
using Word = std::conditional_t<
    bytes == 16, uint4,
    std::conditional_t<bytes == 8, uint2,
                       std::conditional_t<bytes == 4, std::uint32_t,
                                          std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>>;

template <class T, int n = Vector<T>::size>
__device__ __forceinline__ Vector<T, n> load_vector(const T* from) {
  Vector<T, n> v;
  const auto bits = *reinterpret_cast<const Word<sizeof v>*>(from);
  static_assert(sizeof bits == sizeof v);
  memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T, int n>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, n>& v) {
  Word<sizeof v> bits;
  static_assert(sizeof bits == sizeof v);
  memcpy(&bits, &v, sizeof v);
  *reinterpret_cast<Word<sizeof v>*>(to) = bits;
}
#else
// One access for the checker; memcpy, for the elements are no uint4.
template <class T, int n = Vector<T>::size>
ASSAY_EMULATION __attribute__((noinline)) Vector<T, n> load_vector(const T* from) {
  Vector<T, n> v;
  if (reinterpret_cast<std::uintptr_t>(from) % sizeof v != 0)
    emulation::fail_alignment(sizeof v, "read");
  emulation::checker_access(from, sizeof v, false, false, __builtin_return_address(0));
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T, int n>
ASSAY_EMULATION __attribute__((noinline)) void store_vector(T* to, const Vector<T, n>& v) {
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof v != 0)
    emulation::fail_alignment(sizeof v, "written");
  emulation::checker_access(to, sizeof v, true, false, __builtin_return_address(0));
  std::memcpy(to, &v, sizeof v);
}
#endif

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
