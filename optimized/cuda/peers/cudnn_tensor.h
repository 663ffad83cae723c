// Tensors as cuDNN describes them: a dtype, and for each dimension a size and a stride.
#pragma once

#if defined(ASSAY_CUDA_GPU) && __has_include(<cudnn.h>)

#include <vector>

#include "cudnn_library.h"
#include "geometry/space.h"
#include "peer.h"

namespace assay::cuda::peers {

// Throws Refused for a dtype that cuDNN is not asked to compute in.
cudnnDataType_t cudnn_type(Dtype type);

// Whether the library need not be called, which takes no empty tensors. Throws Refused as cudnn_type() does,
// so that what becomes of a dtype depends on no shape.
bool nothing_to_do(const View& out);

// Sizes and strides, the first dimension outermost.
struct CudnnShape {
  std::vector<std::int64_t> sizes, strides;

  int rank() const { return static_cast<int>(sizes.size()); }
};

// An image of [N, C, one to three dimensions], with dimensions of size 1 put in before the last one if it has
// less than two, and of [C, H, W] that of one image. The stride of a dimension of size 1, which means
// nothing, becomes what it is in memory without gaps, by channels last if all other strides are, else by the
// order of dimensions.
CudnnShape image(const View& v, bool batched = true);

// Whether all strides are those of memory without gaps, in the order of dimensions or with channels last.
bool packed(const CudnnShape& image);
bool packed_channels_last(const CudnnShape& image);

// One operand of a space, outermost dimension first, with dimensions of size 1 before them up to rank 4.
CudnnShape of_space(const cpu::Space& space, std::size_t operand);

// Throws Refused for what cuDNN has no numbers for. `name` is the argument's.
CudnnTensor describe(const CudnnShape& shape, Dtype type, const char* name);

// Numbers of an argument as cuDNN takes them, one for each of `dimensions`; a single one stands for all.
std::vector<int> per_dimension(std::span<const std::int64_t> list, int dimensions, const char* name);

// The factors of results: alpha and beta of "alpha * op(x) + beta * y".
struct CudnnFactors {
  const void* one;
  const void* zero;
};
CudnnFactors factors(Dtype type);

}  // namespace assay::cuda::peers

#endif
