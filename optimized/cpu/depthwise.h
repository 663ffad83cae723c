// Convolutions whose groups have one channel of input each: depthwise ones. Compiled for each level.
#include "../geometry/windows.h"
#include "hwy/highway.h"

#if defined(ASSAY_CPU_DEPTHWISE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_DEPTHWISE_H
#undef ASSAY_CPU_DEPTHWISE_H
#else
#define ASSAY_CPU_DEPTHWISE_H
#endif

namespace assay::cpu::HWY_NAMESPACE {

// out = the convolution, not transposed, of each channel of `input` with the weights of its outputs, plus bias unless
// that is null; false, and nothing is done, where it is not of that kind, or larger than it is good for.
bool depthwise(const View& input, const View& weight, const View* bias, const Movement& movement,
               std::int64_t groups, View& out);

}  // namespace assay::cpu::HWY_NAMESPACE

#endif
