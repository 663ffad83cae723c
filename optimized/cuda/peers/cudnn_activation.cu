// relu, sigmoid, tanh and elu by cudnnActivationForward, on tensors whose dimensions are joined where strides
// allow it.
#if __has_include(<cudnn.h>)

#include "../contracts.h"
#include "cudnn_tensor.h"
#include "ops/activation.h"

namespace assay::cuda::peers {
namespace {

// `coefficient` is elu's alpha.
void activate(cudnnActivationMode_t mode, const View& self, View& out, double coefficient = 0) {
  if (nothing_to_do(out)) return;
  const Dtype type = out.type();
  const View* const views[] = {&out, &self};
  const cpu::Space space = cpu::make_space(views, 2);
  const CudnnTensor from = describe(of_space(space, 1), type, "self"),
                    to = describe(of_space(space, 0), type, "the result");
  const CudnnActivation activation =
      create<CudnnActivation>(cudnn().cudnnCreateActivationDescriptor, "describing an activation");
  require(cudnn().cudnnSetActivationDescriptor(activation.get(), mode, CUDNN_PROPAGATE_NAN, coefficient),
          "describing an activation");
  if (asks_only()) return;
  const CudnnFactors by = factors(type);
  require(cudnn().cudnnActivationForward(cudnn_handle(), activation.get(), by.one, from.get(), self.data,
                                         by.zero, to.get(), out.data),
          "computing an activation");
  say_information(cudnn_information("activation"));
}

template <cudnnActivationMode_t mode>
void unary(const View& self, View& out) {
  activate(mode, self, out);
}

void elu(const View& self, Scalar alpha, Scalar scale, Scalar input_scale, View& out) {
  if (scale.real != 1 || input_scale.real != 1)
    throw Refused("cuDNN's elu has no scales, and one of them is not 1");
  activate(CUDNN_ACTIVATION_ELU, self, out, alpha.real);
}

constexpr const char* kContract =
    "in_place=yes -- cuDNN API reference, cudnnActivationForward: \"In-place operation is allowed for this "
    "routine\", with the same descriptors\n" ASSAY_CUDA_EXP "\n" ASSAY_CUDA_EXPM1 "\n" ASSAY_CUDA_TANH;
constexpr const char* kSource = "optimized/cuda/peers/cudnn_activation.cu";

constexpr assay_kernel kernels[] = {
    peer<ops::relu, unary<CUDNN_ACTIVATION_RELU>>("cudnn", no_cudnn, kContract, kSource),
    peer<ops::sigmoid, unary<CUDNN_ACTIVATION_SIGMOID>>("cudnn", no_cudnn, kContract, kSource),
    peer<ops::tanh, unary<CUDNN_ACTIVATION_TANH>>("cudnn", no_cudnn, kContract, kSource),
    peer<ops::elu, elu>("cudnn", no_cudnn, kContract, kSource)};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::cuda::peers

#endif
