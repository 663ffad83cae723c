// Tensor cores and the instructions that feed them, each a function: PTX on a GPU, models of it in the emulation
// (emulation/mma.h). All lanes of a warp call them together, but for the copies.
#pragma once

#include "device.h"

#if !defined(ASSAY_CUDA_GPU)
#include "emulation/mma.h"
#endif

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

#if defined(ASSAY_CUDA_GPU)

// Four matrices of 8 x 8 elements of 16 bits. Lane i gives the address of row i % 8 of matrix i / 8, in shared memory, and
// gets of matrix j in r[j] the elements (i / 4, 2 (i % 4)) and its right neighbour; of transposed matrices in the second
// one (PTX ISA, ldmatrix).
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const void* row) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(unsigned (&r)[4], const void* row) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}

// d += a b, of 16 x 16 and 16 x 8 elements (PTX ISA, mma.sync.m16n8k16).
__device__ __forceinline__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                             __half) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                             __nv_bfloat16) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 16 bytes to shared memory, of which `bytes` are read and the others 0. They are there for this thread once
// wait_for_copies() has returned, and for others after a barrier after that (PTX ISA, cp.async).
__device__ __forceinline__ void copy_async(void* shared, const void* global, int bytes) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(at), "l"(global), "r"(bytes)
               : "memory");
}
// Copies since the last call are a group, which may be empty.
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
// Until all but the last `groups` groups have arrived.
template <int groups>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(groups) : "memory");
}

#else

__device__ inline void load_matrices(unsigned (&r)[4], const void* row, ASSAY_CALLER_) {
  emulation::load_matrices(r, row, false, ASSAY_WHERE_);
}
__device__ inline void load_matrices_transposed(unsigned (&r)[4], const void* row, ASSAY_CALLER_) {
  emulation::load_matrices(r, row, true, ASSAY_WHERE_);
}
template <class T>
__device__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, T,
                             ASSAY_CALLER_) {
  emulation::multiply_add<T>(d, a, b0, b1, ASSAY_WHERE_);
}
__device__ __attribute__((noinline)) inline void copy_async(void* shared, const void* global, int bytes) {
  emulation::copy_async(shared, global, bytes, __builtin_return_address(0));
}
__device__ inline void end_copies() { emulation::end_copies(); }
template <int groups>
__device__ void wait_for_copies() {
  emulation::wait_for_copies(groups);
}

#endif

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
