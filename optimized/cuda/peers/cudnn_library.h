// What of cuDNN is called, loaded at run time. <cudnn.h> is only compiled against.
#pragma once

#if defined(ASSAY_CUDA_GPU) && __has_include(<cudnn.h>)

#include <cudnn.h>

#include <memory>
#include <string>
#include <type_traits>

namespace assay::cuda::peers {

#define ASSAY_CUDNN_FUNCTIONS(each)                                                                          \
  each(cudnnCreate) each(cudnnGetVersion) each(cudnnGetErrorString) each(cudnnCreateTensorDescriptor)        \
      each(cudnnSetTensorNdDescriptor) each(cudnnDestroyTensorDescriptor) each(cudnnCreateFilterDescriptor)  \
          each(cudnnSetFilterNdDescriptor) each(cudnnDestroyFilterDescriptor)                                \
              each(cudnnCreateConvolutionDescriptor) each(cudnnSetConvolutionNdDescriptor)                   \
                  each(cudnnSetConvolutionGroupCount) each(cudnnSetConvolutionMathType)                      \
                      each(cudnnDestroyConvolutionDescriptor) each(cudnnGetConvolutionForwardAlgorithm_v7)   \
                          each(cudnnGetConvolutionForwardWorkspaceSize) each(cudnnConvolutionForward)        \
                              each(cudnnConvolutionBiasActivationForward) each(cudnnCreatePoolingDescriptor) \
                                  each(cudnnSetPoolingNdDescriptor) each(cudnnDestroyPoolingDescriptor)      \
                                      each(cudnnPoolingForward) each(cudnnSoftmaxForward)                    \
                                          each(cudnnCreateActivationDescriptor)                              \
                                              each(cudnnSetActivationDescriptor)                             \
                                                  each(cudnnDestroyActivationDescriptor)                     \
                                                      each(cudnnActivationForward)                           \
                                                          each(cudnnBatchNormalizationForwardInference)

struct Cudnn {
#define ASSAY_MEMBER(name) decltype(&::name) name = nullptr;
  ASSAY_CUDNN_FUNCTIONS(ASSAY_MEMBER)
#undef ASSAY_MEMBER
};

// Why it cannot run here, or null: no device, no library, or one that lacks a function.
const char* no_cudnn();

// Precondition: no_cudnn() is null.
const Cudnn& cudnn();

// The one of this process.
cudnnHandle_t cudnn_handle();

// Throws Refused where the library says that it does not support this, and std::runtime_error for other
// errors.
void require(cudnnStatus_t status, const char* doing);

// "cuDNN 91900, " and what else there is to say.
std::string cudnn_information(const std::string& what);

template <auto destroy>
struct CudnnDestroy {
  template <class T>
  void operator()(T* descriptor) const {
    (cudnn().*destroy)(descriptor);
  }
};
template <class T, auto destroy>
using CudnnOwned = std::unique_ptr<std::remove_pointer_t<T>, CudnnDestroy<destroy>>;

using CudnnTensor = CudnnOwned<cudnnTensorDescriptor_t, &Cudnn::cudnnDestroyTensorDescriptor>;
using CudnnFilter = CudnnOwned<cudnnFilterDescriptor_t, &Cudnn::cudnnDestroyFilterDescriptor>;
using CudnnConvolution = CudnnOwned<cudnnConvolutionDescriptor_t, &Cudnn::cudnnDestroyConvolutionDescriptor>;
using CudnnPooling = CudnnOwned<cudnnPoolingDescriptor_t, &Cudnn::cudnnDestroyPoolingDescriptor>;
using CudnnActivation = CudnnOwned<cudnnActivationDescriptor_t, &Cudnn::cudnnDestroyActivationDescriptor>;

// A new descriptor: create<CudnnTensor>(cudnn().cudnnCreateTensorDescriptor, "describing a tensor").
template <class Owned, class Create>
Owned create(Create* make, const char* doing) {
  typename Owned::pointer made = nullptr;
  require(make(&made), doing);
  return Owned(made);
}

}  // namespace assay::cuda::peers

#endif
