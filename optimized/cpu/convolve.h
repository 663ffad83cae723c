// Convolution, forwards and transposed, for whatever is made of it. Compiled for each level.
#include "../geometry/windows.h"
#include "hwy/highway.h"

#if defined(ASSAY_CPU_CONVOLVE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_CONVOLVE_H
#undef ASSAY_CPU_CONVOLVE_H
#else
#define ASSAY_CPU_CONVOLVE_H
#endif

namespace assay::cpu::HWY_NAMESPACE {

// out = the convolution of input and weight, plus bias unless that is null (convolution.cpp). The size of `out` is any
// that the window's taps reach, so that output_padding is seen there.
void convolve(const View& input, const View& weight, const View* bias, const WindowAttributes& attributes,
              bool transposed, std::int64_t groups, View& out);

}  // namespace assay::cpu::HWY_NAMESPACE

#endif
