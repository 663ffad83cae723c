// The descriptors of the library that stands in for cuDNN in tests: they keep what they are given.
#pragma once

#if __has_include(<cudnn.h>)

#include <cudnn.h>

#include <cstdint>
#include <vector>

#include "enqueue.h"
#include "number.h"

// Names of cuDNN's, which it leaves open.
struct cudnnTensorStruct {
  standin::Format format;
  std::vector<int> sizes, strides;

  int rank() const { return static_cast<int>(sizes.size()); }
  // Where element i, of this many indices, lies.
  std::int64_t at(const std::vector<int>& i) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < i.size(); ++d) offset += std::int64_t{i[d]} * strides[d];
    return offset;
  }
};
struct cudnnFilterStruct {
  cudnnTensorStruct tensor;  // with the strides of its order
  bool channels_last;
};
struct cudnnConvolutionStruct {
  std::vector<int> padding, stride, dilation;
  int groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode;
  std::vector<int> window, padding, stride;
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode;
  double coefficient;
};

namespace standin {

bool format_of(cudnnDataType_t type, Format& format);

// alpha * result + beta * what there was, which is not read where beta is 0.
struct Blend {
  double alpha, beta;

  Blend(const void* factor_of_result, const void* factor_of_before, Format format)
      : alpha(factor(factor_of_result, format)), beta(factor(factor_of_before, format)) {}

  template <class T>
  void operator()(T result, const cudnnTensorStruct& as, void* y, std::int64_t at) const {
    T value = static_cast<T>(alpha) * result;
    if (beta != 0) value += static_cast<T>(beta) * static_cast<T>(load(y, as.format, at));
    store(y, as.format, at, value);
  }
};

// Calls f with each index of a tensor of these sizes.
template <class F>
void each_index(const std::vector<int>& sizes, F f) {
  std::int64_t count = 1;
  for (const int n : sizes) count *= n;
  std::vector<int> index(sizes.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      index[d] = static_cast<int>(rest % sizes[d]);
      rest /= sizes[d];
    }
    f(index);
  }
}

}  // namespace standin

#endif
