// Convolution, forwards and transposed, for whatever is made of it (convolution.cu).
#pragma once

#include "convolution_places.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// out = the convolution of input and weight, plus bias unless that is null. The size of `out` is any that the window's
// taps reach, so that output_padding is seen there.
void convolve(const View& input, const View& weight, const View* bias,
              const cpu::WindowAttributes& attributes, bool transposed, std::int64_t groups, View& out);

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
