// Hopper's way to its matrix units, which has about twice the rate of the mma.sync that all architectures know: a group of four
// warps multiplies matrices that lie in shared memory (PTX ISA, wgmma.mma_async). It is there in code for sm_90a alone.
#pragma once

#include "../device.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ASSAY_WGMMA
#endif

#ifdef ASSAY_WGMMA
namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// A matrix of bf16 in shared memory without swizzling, 16 terms deep: pieces of eight rows by 16 bytes, one after the other,
// the two of eight rows side by side (PTX ISA, matrix descriptor: addresses and distances in units of 16 bytes).
__device__ __forceinline__ unsigned long long wgmma_matrix(const void* shared) {
  constexpr unsigned long long kPiece = 128, kEightRows = 256;
  const unsigned long long at = __cvta_generic_to_shared(shared);
  return (at & 0x3ffff) >> 4 | kPiece >> 4 << 16 | kEightRows >> 4 << 32;
}

#define ASSAY_FOUR_(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define ASSAY_SIXTEEN_(d, i) \
  ASSAY_FOUR_(d, i), ASSAY_FOUR_(d, (i) + 4), ASSAY_FOUR_(d, (i) + 8), ASSAY_FOUR_(d, (i) + 12)

// d += a b, of 64 x 16 and 16 x 256 elements. Asynchronous: d is there after wgmma_end().
__device__ __forceinline__ void wgmma(float (&d)[128], unsigned long long a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, 1, 1, 1, 0, 0;"
      : ASSAY_SIXTEEN_(d, 0), ASSAY_SIXTEEN_(d, 16), ASSAY_SIXTEEN_(d, 32), ASSAY_SIXTEEN_(d, 48),
        ASSAY_SIXTEEN_(d, 64), ASSAY_SIXTEEN_(d, 80), ASSAY_SIXTEEN_(d, 96), ASSAY_SIXTEEN_(d, 112)
      : "l"(a), "l"(b)
      : "memory");
}

#undef ASSAY_SIXTEEN_
#undef ASSAY_FOUR_

// Before the first of several wgmma() that have these registers or read shared memory that was written since, and after the
// last of them.
__device__ __forceinline__ void wgmma_begin() {
  asm volatile("fence.proxy.async.shared::cta;\n\twgmma.fence.sync.aligned;" : : : "memory");
}
__device__ __forceinline__ void wgmma_end() {
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" : : : "memory");
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
#endif
