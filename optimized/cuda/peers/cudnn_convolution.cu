// convolution by cudnnConvolutionForward, or with a bias by cudnnConvolutionBiasActivationForward.
//
// Of cuDNN's algorithms those that multiply and add are taken: the implicit and the explicit matrix product.
// Winograd's and the Fourier transform give other sums. A bias is added before the result is rounded, which
// only the one function does, and it for one algorithm. f32 is computed without tensor cores, which would
// round its factors to TF32.
#if __has_include(<cudnn.h>)

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "cudnn_tensor.h"
#include "ops/convolution.h"

namespace assay::cuda::peers {
namespace {

using Numbers = std::span<const std::int64_t>;

struct Chosen {
  cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  std::size_t workspace = 0;
};

struct Call {
  CudnnTensor input, out, bias;
  CudnnFilter weight;
  CudnnConvolution convolution;
  CudnnActivation identity;  // of a call with a bias
};

std::string_view name(cudnnConvolutionFwdAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
      return "implicit matrix product";
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
      return "implicit matrix product with computed indices";
    default:
      return "explicit matrix product";
  }
}

bool multiplies_and_adds(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
}

// A filter has no strides, only an order: that of the input if it can have either.
CudnnFilter describe_weight(const CudnnShape& weight, bool channels_last, Dtype type) {
  if (!packed(weight) && !packed_channels_last(weight))
    throw Refused("cuDNN takes weights without gaps, in the order of their dimensions or with channels last");
  const bool last = packed_channels_last(weight) && (channels_last || !packed(weight));
  std::vector<int> sizes;
  for (const std::int64_t n : weight.sizes) sizes.push_back(to_int(n, "a size of weight"));
  CudnnFilter filter = create<CudnnFilter>(cudnn().cudnnCreateFilterDescriptor, "describing weight");
  require(cudnn().cudnnSetFilterNdDescriptor(filter.get(), cudnn_type(type),
                                             last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, weight.rank(),
                                             sizes.data()),
          "describing weight");
  return filter;
}

// Of the dimensions that image() puts in, too.
std::vector<int> filled(Numbers list, int given, int all, int neutral, const char* what) {
  std::vector<int> numbers(static_cast<std::size_t>(all - given), neutral);
  for (const int n : per_dimension(list, given, what)) numbers.push_back(n);
  return numbers;
}

// The first of what cuDNN thinks fastest that serves.
Chosen choose(const Call& call) {
  std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> found{};
  int count = 0;
  require(cudnn().cudnnGetConvolutionForwardAlgorithm_v7(
              cudnn_handle(), call.input.get(), call.weight.get(), call.convolution.get(), call.out.get(),
              static_cast<int>(found.size()), &count, found.data()),
          "asking cuDNN for an algorithm");
  for (int i = 0; i < count; ++i) {
    const cudnnConvolutionFwdAlgoPerf_t& one = found[static_cast<std::size_t>(i)];
    if (one.status != CUDNN_STATUS_SUCCESS || !multiplies_and_adds(one.algo)) continue;
    if (call.bias != nullptr && one.algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) continue;
    // With the kind of arithmetic that was asked for, whichever this one was found with.
    Chosen chosen{.algorithm = one.algo};
    const cudnnStatus_t status = cudnn().cudnnGetConvolutionForwardWorkspaceSize(
        cudnn_handle(), call.input.get(), call.weight.get(), call.convolution.get(), call.out.get(), one.algo,
        &chosen.workspace);
    constexpr std::size_t kMost = std::size_t{1} << 30;
    if (status == CUDNN_STATUS_SUCCESS && chosen.workspace <= kMost) return chosen;
  }
  throw Refused(call.bias != nullptr
                    ? "cuDNN has no algorithm for this convolution that adds a bias before it rounds"
                    : "cuDNN has no algorithm for this convolution that multiplies and adds");
}

// The same, remembered, for cuDNN takes its time to answer. `key` is all that the answer depends on.
Chosen choose(const Call& call, const std::vector<std::int64_t>& key) {
  static std::map<std::vector<std::int64_t>, Chosen> known;  // calls come one at a time
  constexpr std::size_t kMost = 1024;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() >= kMost) known.clear();
  const Chosen chosen = choose(call);  // or an exception, which is not remembered
  return known[key] = chosen;
}

void add_bias(Call& call, const View& bias, int rank, Dtype type) {
  if (bias.size(0) > 1 && bias.stride(0) != 1)
    throw Refused("cuDNN is given biases whose elements are neighbours, and this one's stride is " +
                  std::to_string(bias.stride(0)));
  CudnnShape shape{{1, bias.size(0)}, {bias.size(0), 1}};
  shape.sizes.resize(static_cast<std::size_t>(rank), 1);
  shape.strides.resize(static_cast<std::size_t>(rank), 1);
  call.bias = describe(shape, type, "bias");
  call.identity =
      create<CudnnActivation>(cudnn().cudnnCreateActivationDescriptor, "describing no activation");
  require(cudnn().cudnnSetActivationDescriptor(call.identity.get(), CUDNN_ACTIVATION_IDENTITY,
                                               CUDNN_PROPAGATE_NAN, 0),
          "describing no activation");
}

void convolution(const View& input, const View& weight, const View* bias, Numbers stride, Numbers padding,
                 Numbers dilation, bool transposed, Numbers /*output_padding*/, std::int64_t groups,
                 View& out) {
  if (transposed) throw Refused("cuDNN is asked for convolutions that are not transposed");
  if (nothing_to_do(out)) return;
  if (input.numel() == 0 || weight.numel() == 0) throw Refused("cuDNN is not asked for sums of no terms");
  const Dtype type = out.type();
  const CudnnShape from = image(input), to = image(out), kernel = image(weight);
  const int given = input.rank() - 2, all = from.rank() - 2;

  Call call;
  call.input = describe(from, type, "input");
  call.out = describe(to, type, "the result");
  call.weight = describe_weight(kernel, packed_channels_last(from) && !packed(from), type);
  call.convolution =
      create<CudnnConvolution>(cudnn().cudnnCreateConvolutionDescriptor, "describing a convolution");
  const std::vector<int> around = filled(padding, given, all, 0, "padding"),
                         steps = filled(stride, given, all, 1, "stride"),
                         gaps = filled(dilation, given, all, 1, "dilation");
  require(cudnn().cudnnSetConvolutionNdDescriptor(call.convolution.get(), all, around.data(), steps.data(),
                                                  gaps.data(), CUDNN_CROSS_CORRELATION,
                                                  type == Dtype::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
          "describing a convolution");
  require(cudnn().cudnnSetConvolutionGroupCount(call.convolution.get(), to_int(groups, "groups")),
          "setting groups");
  const bool tensor_cores = type == Dtype::f16 || type == Dtype::bf16;
  require(cudnn().cudnnSetConvolutionMathType(call.convolution.get(),
                                              tensor_cores ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH),
          "choosing the kind of arithmetic");
  if (bias != nullptr) add_bias(call, *bias, from.rank(), type);
  std::vector<std::int64_t> key{static_cast<std::int64_t>(type), bias != nullptr, groups, all};
  for (const std::vector<std::int64_t>* list :
       {&from.sizes, &from.strides, &to.sizes, &to.strides, &kernel.sizes, &kernel.strides})
    key.insert(key.end(), list->begin(), list->end());
  for (const std::vector<int>* list : {&around, &steps, &gaps})
    key.insert(key.end(), list->begin(), list->end());
  const Chosen chosen = choose(call, key);
  if (asks_only()) return;

  const Memory workspace(chosen.workspace, "cuDNN");
  const CudnnFactors by = factors(type);
  if (bias == nullptr)
    require(cudnn().cudnnConvolutionForward(cudnn_handle(), by.one, call.input.get(), input.data,
                                            call.weight.get(), weight.data, call.convolution.get(),
                                            chosen.algorithm, workspace.data(), chosen.workspace, by.zero,
                                            call.out.get(), out.data),
            "convolving");
  else  // what is added besides the bias has the factor 0
    require(cudnn().cudnnConvolutionBiasActivationForward(
                cudnn_handle(), by.one, call.input.get(), input.data, call.weight.get(), weight.data,
                call.convolution.get(), chosen.algorithm, workspace.data(), chosen.workspace, by.zero,
                call.out.get(), out.data, call.bias.get(), bias->data, call.identity.get(), call.out.get(),
                out.data),
            "convolving with a bias");
  say_information(cudnn_information(std::string(name(chosen.algorithm))));
}

constexpr const char* kContract =
    "f16,bf16: addition=cut_off(1) -- Fasi, Higham, Mikaitis and Pranesh 2021: sums of tensor cores, as measured\n"
    "alignment=16 -- cuDNN Developer Guide, Tensor Core Operations: pointers to data are multiples of 128 "
    "bits\n"
    "row_invariant=no layout_invariant=no -- cuDNN API reference, cudnnGetConvolutionForwardAlgorithm_v7: "
    "\"a heuristic for obtaining the best suited algorithm [...] for the given layer specifications\"";

constexpr assay_kernel kernels[] = {peer<ops::convolution, convolution>(
    "cudnn", no_cudnn, kContract, "optimized/cuda/peers/cudnn_convolution.cu")};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::cuda::peers

#endif
