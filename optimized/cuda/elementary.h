// Elementary functions of float and double under one name each, for operators that are written once for both.
//
// Called by their C names, which a compiler for the processor and one for the GPU read alike: exp(x) of a
// float is computed in double by one of them where only the C header is included, and in float by the other.
// Such a header is why this one is not called math.h. What they promise stands in contracts.h.
#pragma once

#include "device.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

__device__ __forceinline__ float exp_of(float x) { return ::expf(x); }
__device__ __forceinline__ double exp_of(double x) { return ::exp(x); }
__device__ __forceinline__ float expm1_of(float x) { return ::expm1f(x); }
__device__ __forceinline__ double expm1_of(double x) { return ::expm1(x); }
__device__ __forceinline__ float log_of(float x) { return ::logf(x); }
__device__ __forceinline__ double log_of(double x) { return ::log(x); }
__device__ __forceinline__ float log1p_of(float x) { return ::log1pf(x); }
__device__ __forceinline__ double log1p_of(double x) { return ::log1p(x); }
__device__ __forceinline__ float tanh_of(float x) { return ::tanhf(x); }
__device__ __forceinline__ double tanh_of(double x) { return ::tanh(x); }
__device__ __forceinline__ float erf_of(float x) { return ::erff(x); }
__device__ __forceinline__ double erf_of(double x) { return ::erf(x); }
__device__ __forceinline__ float acos_of(float x) { return ::acosf(x); }
__device__ __forceinline__ double acos_of(double x) { return ::acos(x); }
__device__ __forceinline__ float asin_of(float x) { return ::asinf(x); }
__device__ __forceinline__ double asin_of(double x) { return ::asin(x); }
__device__ __forceinline__ float atan_of(float x) { return ::atanf(x); }
__device__ __forceinline__ double atan_of(double x) { return ::atan(x); }
__device__ __forceinline__ float exp2_of(float x) { return ::exp2f(x); }
__device__ __forceinline__ double exp2_of(double x) { return ::exp2(x); }
__device__ __forceinline__ float log2_of(float x) { return ::log2f(x); }
__device__ __forceinline__ double log2_of(double x) { return ::log2(x); }
__device__ __forceinline__ float pow_of(float x, float y) { return ::powf(x, y); }
__device__ __forceinline__ double pow_of(double x, double y) { return ::pow(x, y); }
__device__ __forceinline__ float atan2_of(float x, float y) { return ::atan2f(x, y); }
__device__ __forceinline__ double atan2_of(double x, double y) { return ::atan2(x, y); }

// Rounded once, as IEEE 754 has it.
__device__ __forceinline__ float sqrt_of(float x) { return ::sqrtf(x); }
__device__ __forceinline__ double sqrt_of(double x) { return ::sqrt(x); }
__device__ __forceinline__ float fma_of(float a, float b, float c) { return ::fmaf(a, b, c); }
__device__ __forceinline__ double fma_of(double a, double b, double c) { return ::fma(a, b, c); }

// Exact.
__device__ __forceinline__ float abs_of(float x) { return ::fabsf(x); }
__device__ __forceinline__ double abs_of(double x) { return ::fabs(x); }
__device__ __forceinline__ float floor_of(float x) { return ::floorf(x); }
__device__ __forceinline__ double floor_of(double x) { return ::floor(x); }
__device__ __forceinline__ float ceil_of(float x) { return ::ceilf(x); }
__device__ __forceinline__ double ceil_of(double x) { return ::ceil(x); }
__device__ __forceinline__ float trunc_of(float x) { return ::truncf(x); }
__device__ __forceinline__ double trunc_of(double x) { return ::trunc(x); }
__device__ __forceinline__ float fmod_of(float x, float y) { return ::fmodf(x, y); }
__device__ __forceinline__ double fmod_of(double x, double y) { return ::fmod(x, y); }
// To the nearest integer, ties to even.
__device__ __forceinline__ float rint_of(float x) { return ::rintf(x); }
__device__ __forceinline__ double rint_of(double x) { return ::rint(x); }

__device__ __forceinline__ bool is_nan(float x) { return x != x; }
__device__ __forceinline__ bool is_nan(double x) { return x != x; }
__device__ __forceinline__ bool is_infinite(float x) { return ::fabsf(x) == HUGE_VALF; }
__device__ __forceinline__ bool is_infinite(double x) { return ::fabs(x) == HUGE_VAL; }

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
