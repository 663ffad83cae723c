// Elements of any dtype and stride, to and from buffers of the compute type. Compiled for each level.
//
// With these, code that is written for buffers without gaps runs on any layout and any mix of dtypes.
#include "element.h"
#include "hwy/highway.h"

#if defined(ASSAY_CPU_GATHER_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_GATHER_H
#undef ASSAY_CPU_GATHER_H
#else
#define ASSAY_CPU_GATHER_H
#endif

namespace assay::cpu::HWY_NAMESPACE {

// to[i] = from[i * step], i in [0, n), converted to dtype `as` and then to the compute type of `as`, which
// must be that of the buffer. Conversions that lose bits round once to nearest even, integers as doubles; booleans become
// 0 and 1. Integers as integers keep their low bits.
void gather(float* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n);
void gather(double* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n);
void gather(std::int64_t* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n);

// to[i * step] = from[i], i in [0, n), rounded once to nearest even. `type` is computed in the buffer's type. Of integers, the
// low bits; of a boolean, whether it is not 0.
void scatter(void* to, Dtype type, std::int64_t step, const float* from, std::int64_t n);
void scatter(void* to, Dtype type, std::int64_t step, const double* from, std::int64_t n);
void scatter(void* to, Dtype type, std::int64_t step, const std::int64_t* from, std::int64_t n);

}  // namespace assay::cpu::HWY_NAMESPACE

#endif
