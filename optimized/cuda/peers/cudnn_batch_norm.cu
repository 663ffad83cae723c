// native_batch_norm with statistics that are given, by cudnnBatchNormalizationForwardInference.
#if __has_include(<cudnn.h>)

#include <optional>
#include <vector>

#include "cudnn_tensor.h"
#include "ops/batch_norm.h"

namespace assay::cuda::peers {
namespace {

// One number for each channel, in memory of the device.
class Channels {
 public:
  // `fill` stands for a tensor that is not given.
  Channels(const View* given, const View& like, double fill) {
    if (given != nullptr) {
      data_ = given->data;
    } else if (like.type() == Dtype::f64) {
      fill_with(std::vector<double>(static_cast<std::size_t>(like.size(0)), fill));
    } else {
      fill_with(std::vector<float>(static_cast<std::size_t>(like.size(0)), static_cast<float>(fill)));
    }
  }
  const void* data() const { return data_; }

 private:
  template <class T>
  void fill_with(const std::vector<T>& numbers) {
    memory_.emplace(numbers.size() * sizeof(T), "a parameter of batch_norm");
    data_ = memory_->data();
    // CUDA takes the numbers at once, for they are pageable memory, and waits for nothing.
    check(cudaMemcpyAsync(memory_->data(), numbers.data(), numbers.size() * sizeof(T), cudaMemcpyHostToDevice,
                          nullptr),
          "filling a parameter of batch_norm");
  }

  const void* data_ = nullptr;
  std::optional<Memory> memory_;
};

void batch_norm(const View& input, const View* weight, const View* bias, const View* running_mean,
                const View* running_var, bool training, double /*momentum*/, double eps, View& out,
                View& /*mean*/, View& /*rstd*/) {
  if (training)
    throw Refused("cuDNN is asked for batch_norm with statistics that are given, not in training");
  const Dtype type = out.type();
  if (type != Dtype::f32 && type != Dtype::f64)
    throw Refused("cuDNN takes weights and statistics of f16 and bf16 images in f32");
  if (nothing_to_do(out)) return;
  for (const View* one : {weight, bias, running_mean, running_var})
    if (one != nullptr && !one->contiguous())
      throw Refused(
          "cuDNN describes weights and statistics once for all, here without gaps, and one of them has some");
  const CudnnShape from = image(input);
  const std::int64_t channels = from.sizes[1];
  CudnnShape each{{1, channels}, {channels, 1}};
  each.sizes.resize(from.sizes.size(), 1);
  each.strides.resize(from.sizes.size(), 1);
  const CudnnTensor x = describe(from, type, "input"), y = describe(image(out), type, "the result"),
                    parameters = describe(each, type, "a parameter");
  if (eps < CUDNN_BN_MIN_EPSILON)
    throw Refused("cuDNN's eps is at least " + std::to_string(CUDNN_BN_MIN_EPSILON));
  if (asks_only()) return;
  const CudnnFactors by = factors(type);
  const Channels scale(weight, *running_mean, 1),
      shift(bias, *running_mean, -0.0);  // to add -0 changes nothing
  require(cudnn().cudnnBatchNormalizationForwardInference(cudnn_handle(), CUDNN_BATCHNORM_SPATIAL, by.one,
                                                          by.zero, x.get(), input.data, y.get(), out.data,
                                                          parameters.get(), scale.data(), shift.data(),
                                                          running_mean->data, running_var->data, eps),
          "normalising");
  say_information(cudnn_information("batch normalisation"));
}

constexpr assay_kernel kernels[] = {peer<ops::native_batch_norm, batch_norm>(
    "cudnn", no_cudnn, nullptr, "optimized/cuda/peers/cudnn_batch_norm.cu")};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::cuda::peers

#endif
