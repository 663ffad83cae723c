#include "cudnn_descriptors.h"

#include <string>

namespace standin {

bool format_of(cudnnDataType_t type, Format& format) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      format = Format::f64;
      return true;
    case CUDNN_DATA_FLOAT:
      format = Format::f32;
      return true;
    case CUDNN_DATA_HALF:
      format = Format::f16;
      return true;
    case CUDNN_DATA_BFLOAT16:
      format = Format::bf16;
      return true;
    default:
      return false;
  }
}

}  // namespace standin

namespace {

constexpr int kLeast = 4, kMost = 5;

template <class T>
cudnnStatus_t made(T** descriptor) {
  *descriptor = new T{};
  return CUDNN_STATUS_SUCCESS;
}
template <class T>
cudnnStatus_t gone(T* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

bool positive(int n, const int numbers[]) {
  for (int i = 0; i < n; ++i)
    if (numbers[i] < 1) return false;
  return true;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static int one;
  *handle = reinterpret_cast<cudnnHandle_t>(&one);
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  static thread_local std::string text;
  text = "CUDNN_STATUS " + std::to_string(static_cast<int>(status));
  return text.c_str();
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return made(tensor); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return gone(tensor); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                         const int sizes[], const int strides[]) {
  if (rank < kLeast || rank > kMost || !standin::format_of(type, tensor->format))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!positive(rank, sizes) || !positive(rank, strides)) return CUDNN_STATUS_BAD_PARAM;
  tensor->sizes.assign(sizes, sizes + rank);
  tensor->strides.assign(strides, strides + rank);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return made(filter); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return gone(filter); }
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int sizes[]) {
  if (rank < kLeast || rank > kMost || !standin::format_of(type, filter->tensor.format) ||
      (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!positive(rank, sizes)) return CUDNN_STATUS_BAD_PARAM;
  filter->channels_last = format == CUDNN_TENSOR_NHWC;
  filter->tensor.sizes.assign(sizes, sizes + rank);
  filter->tensor.strides.assign(static_cast<std::size_t>(rank), 1);
  int stride = 1;
  if (filter->channels_last) stride = sizes[1];
  for (int d = rank - 1; d >= 0; --d) {
    if (filter->channels_last && d == 1) continue;
    filter->tensor.strides[static_cast<std::size_t>(d)] = stride;
    stride *= sizes[d];
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  return made(convolution);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  return gone(convolution);
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int dims,
                                              const int padding[], const int stride[], const int dilation[],
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  if (mode != CUDNN_CROSS_CORRELATION || (compute != CUDNN_DATA_FLOAT && compute != CUDNN_DATA_DOUBLE))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!positive(dims, stride) || !positive(dims, dilation)) return CUDNN_STATUS_BAD_PARAM;
  convolution->padding.assign(padding, padding + dims);
  convolution->stride.assign(stride, stride + dims);
  convolution->dilation.assign(dilation, dilation + dims);
  convolution->compute = compute;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  convolution->groups = groups;
  return groups > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  if (math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) return CUDNN_STATUS_NOT_SUPPORTED;
  convolution->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling) { return made(pooling); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling) { return gone(pooling); }
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int dims, const int window[],
                                          const int padding[], const int stride[]) {
  if (nan != CUDNN_PROPAGATE_NAN || mode == CUDNN_POOLING_MAX_DETERMINISTIC)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!positive(dims, window) || !positive(dims, stride)) return CUDNN_STATUS_BAD_PARAM;
  pooling->mode = mode;
  pooling->window.assign(window, window + dims);
  pooling->padding.assign(padding, padding + dims);
  pooling->stride.assign(stride, stride + dims);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation) {
  return made(activation);
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation) {
  return gone(activation);
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t nan, double coefficient) {
  if (nan != CUDNN_PROPAGATE_NAN) return CUDNN_STATUS_NOT_SUPPORTED;
  activation->mode = mode;
  activation->coefficient = coefficient;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
