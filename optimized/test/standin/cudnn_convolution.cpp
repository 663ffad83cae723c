// Convolutions of the library that stands in for cuDNN: the formula, on memory of the program.
#include <array>
#include <cstring>

#include "cudnn_descriptors.h"

namespace {

constexpr std::size_t kWorkspace = 1000;  // of the algorithm that wants some

cudnnStatus_t fits(const cudnnTensorStruct& x, const cudnnFilterStruct& w, const cudnnConvolutionStruct& how,
                   const cudnnTensorStruct& y) {
  const std::size_t dims = how.padding.size();
  if (x.sizes.size() != dims + 2 || w.tensor.sizes.size() != dims + 2 || y.sizes.size() != dims + 2)
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  if (x.sizes[0] != y.sizes[0] || x.sizes[1] != w.tensor.sizes[1] * how.groups ||
      y.sizes[1] != w.tensor.sizes[0] || y.sizes[1] % how.groups != 0)
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  for (std::size_t d = 0; d < dims; ++d) {
    const int extent = how.dilation[d] * (w.tensor.sizes[d + 2] - 1) + 1;
    if (y.sizes[d + 2] != 1 + (x.sizes[d + 2] + 2 * how.padding[d] - extent) / how.stride[d])
      return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  if (x.format != y.format || x.format != w.tensor.format ||
      (x.format == standin::Format::f64) != (how.compute == CUDNN_DATA_DOUBLE))
    return CUDNN_STATUS_NOT_SUPPORTED;
  // Without FMA_MATH, f32 may be computed as TF32.
  if (x.format == standin::Format::f32 && how.math != CUDNN_FMA_MATH) return CUDNN_STATUS_NOT_SUPPORTED;
  if (w.channels_last && (x.strides[1] != 1 || y.strides[1] != 1)) return CUDNN_STATUS_NOT_SUPPORTED;
  return CUDNN_STATUS_SUCCESS;
}

bool aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

template <class T>
T convolved(const cudnnTensorStruct& x, const void* x_data, const cudnnFilterStruct& w, const void* w_data,
            const cudnnConvolutionStruct& how, const std::vector<int>& o, int outputs) {
  std::vector<int> taps = w.tensor.sizes;
  taps[0] = 1;
  const int first_channel = o[1] / (outputs / how.groups) * taps[1];
  T sum = 0;
  standin::each_index(taps, [&](std::vector<int> tap) {
    std::vector<int> from{o[0], first_channel + tap[1]};
    for (std::size_t d = 0; d + 2 < o.size(); ++d) {
      const int i = o[d + 2] * how.stride[d] - how.padding[d] + tap[d + 2] * how.dilation[d];
      if (i < 0 || i >= x.sizes[d + 2]) return;
      from.push_back(i);
    }
    tap[0] = o[1];
    sum += static_cast<T>(standin::load(x_data, x.format, x.at(from))) *
           static_cast<T>(standin::load(w_data, w.tensor.format, w.tensor.at(tap)));
  });
  return sum;
}

}  // namespace

extern "C" {

// The fastest is one that a caller who wants sums of products does not take; one says that it does not serve.
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t how,
                                                     const cudnnTensorDescriptor_t y, int requested,
                                                     int* count, cudnnConvolutionFwdAlgoPerf_t* found) {
  if (const cudnnStatus_t status = fits(*x, *w, *how, *y); status != CUDNN_STATUS_SUCCESS) return status;
  const std::array<cudnnConvolutionFwdAlgoPerf_t, 4> all{{
      {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_STATUS_SUCCESS, 1, 0, CUDNN_DETERMINISTIC, how->math, {}},
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
       CUDNN_STATUS_NOT_SUPPORTED,
       2,
       0,
       CUDNN_DETERMINISTIC,
       how->math,
       {}},
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
       CUDNN_STATUS_SUCCESS,
       3,
       kWorkspace,
       CUDNN_DETERMINISTIC,
       how->math,
       {}},
      {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_STATUS_SUCCESS, 4, 0, CUDNN_DETERMINISTIC, how->math, {}},
  }};
  for (*count = 0; *count < requested && *count < static_cast<int>(all.size()); ++*count)
    found[*count] = all[static_cast<std::size_t>(*count)];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t how,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  *bytes = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ? kWorkspace : 0;
  return fits(*x, *w, *how, *y);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x, const void* x_data,
                                      const cudnnFilterDescriptor_t w, const void* w_data,
                                      const cudnnConvolutionDescriptor_t how,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      size_t workspace_bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y, void* y_data) {
  std::size_t needed = 0;
  if (const cudnnStatus_t status =
          cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, how, y, algorithm, &needed);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  // It stands in a list, and nobody should take it.
  if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD) return CUDNN_STATUS_EXECUTION_FAILED;
  if (workspace_bytes < needed) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  if (!aligned(x_data) || !aligned(w_data) || !aligned(y_data))
    return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
  const standin::Blend blend(alpha, beta, x->format);
  standin::enqueue([=, x = *x, w = *w, how = *how, y = *y] {
    std::memset(workspace, 0x5a, needed);
    standin::in_compute_format(x.format, [&](auto zero) {
      using T = decltype(zero);
      standin::each_index(y.sizes, [&](const std::vector<int>& o) {
        blend(convolved<T>(x, x_data, w, w_data, how, o, y.sizes[1]), y, y_data, y.at(o));
      });
    });
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x, const void* x_data,
    const cudnnFilterDescriptor_t w, const void* w_data, const cudnnConvolutionDescriptor_t how,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t workspace_bytes, const void* factor_of_z,
    const cudnnTensorDescriptor_t z, const void* z_data, const cudnnTensorDescriptor_t bias,
    const void* bias_data, const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y,
    void* y_data) {
  std::size_t needed = 0;
  if (const cudnnStatus_t status =
          cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, how, y, algorithm, &needed);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (activation->mode != CUDNN_ACTIVATION_IDENTITY ||
      algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
    return CUDNN_STATUS_NOT_SUPPORTED;
  std::vector<int> one_each(y->sizes.size(), 1);
  one_each[1] = y->sizes[1];
  if (workspace_bytes < needed) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  if (bias->sizes != one_each || bias->format != y->format || z->sizes != y->sizes ||
      z->strides != y->strides)
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  if (!aligned(x_data) || !aligned(w_data) || !aligned(y_data))
    return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
  const double of_sum = standin::factor(alpha, x->format), of_z = standin::factor(factor_of_z, x->format);
  standin::enqueue([=, x = *x, w = *w, how = *how, y = *y, z = *z, bias = *bias] {
    std::memset(workspace, 0x5a, needed);
    standin::in_compute_format(x.format, [&](auto zero) {
      using T = decltype(zero);
      standin::each_index(y.sizes, [&](const std::vector<int>& o) {
        T sum = static_cast<T>(of_sum) * convolved<T>(x, x_data, w, w_data, how, o, y.sizes[1]);
        if (of_z != 0) sum += static_cast<T>(of_z) * static_cast<T>(standin::load(z_data, z.format, z.at(o)));
        std::vector<int> channel(o.size());
        channel[1] = o[1];
        sum += static_cast<T>(standin::load(bias_data, bias.format, bias.at(channel)));
        standin::store(y_data, y.format, y.at(o), sum);
      });
    });
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
