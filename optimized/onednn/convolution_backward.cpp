// convolution_backward by the gradients of oneDNN's convolution and deconvolution primitives: one for the input, one for
// weight and bias together.
#include "convolution.h"

#include <algorithm>

#include "ops/convolution.h"

namespace assay::onednn {
namespace {

struct Plain {
  using Forward = dnnl::convolution_forward;
  using Data = dnnl::convolution_backward_data;
  using Weights = dnnl::convolution_backward_weights;
  static constexpr auto kind = dnnl::primitive::kind::convolution;
  static constexpr auto algorithm = dnnl::algorithm::convolution_direct;
};
struct Transposed {
  using Forward = dnnl::deconvolution_forward;
  using Data = dnnl::deconvolution_backward_data;
  using Weights = dnnl::deconvolution_backward_weights;
  static constexpr auto kind = dnnl::primitive::kind::deconvolution;
  static constexpr auto algorithm = dnnl::algorithm::deconvolution_direct;
};

// key.memories: input, weight, output, and perhaps bias; gradients have the descriptions of what they are of.
template <class P>
typename P::Forward::primitive_desc forward(const PrimitiveKey& key, const dnnl::engine& engine) {
  const auto& m = key.memories;
  const WindowNumbers n(key);
  const typename P::Forward::desc desc(dnnl::prop_kind::forward_training, P::algorithm, m[0].make(),
                                       m[1].make(), m[2].make(), n.part(0), n.part(1), n.part(2), n.part(3));
  return {desc, key.attributes.make(), engine};
}

template <class P>
dnnl::primitive_desc_base build_data(const PrimitiveKey& key, const dnnl::engine& engine) {
  const auto& m = key.memories;
  const WindowNumbers n(key);
  const typename P::Data::desc desc(P::algorithm, m[0].make(), m[1].make(), m[2].make(), n.part(0), n.part(1),
                                    n.part(2), n.part(3));
  return typename P::Data::primitive_desc(desc, key.attributes.make(), engine, forward<P>(key, engine));
}

template <class P>
dnnl::primitive_desc_base build_weights(const PrimitiveKey& key, const dnnl::engine& engine) {
  const auto& m = key.memories;
  const WindowNumbers n(key);
  const auto desc = [&] {
    if (m.size() == 3)
      return typename P::Weights::desc(P::algorithm, m[0].make(), m[1].make(), m[2].make(), n.part(0),
                                       n.part(1), n.part(2), n.part(3));
    return typename P::Weights::desc(P::algorithm, m[0].make(), m[1].make(), m[3].make(), m[2].make(),
                                     n.part(0), n.part(1), n.part(2), n.part(3));
  }();
  return typename P::Weights::primitive_desc(desc, key.attributes.make(), engine, forward<P>(key, engine));
}

struct Window {
  std::span<const std::int64_t> stride, padding, dilation;
  bool transposed;
  std::int64_t groups;
};

template <class P>
void gradients(const Level& level, const View& grad_output, const View& input, const View& weight,
               const Window& w, View* grad_input, View* grad_weight, View* grad_bias) {
  const auto numbers =
      window_numbers(input, weight, grad_output, w.stride, w.padding, w.dilation, w.transposed);
  if (grad_input != nullptr) {
    Operation operation(level, P::kind);
    operation.key.propagation = dnnl::prop_kind::backward_data;
    operation.tensor(DNNL_ARG_DIFF_SRC, *grad_input);
    operation.tensor(DNNL_ARG_WEIGHTS, weight, grouped_weights(weight, w.groups, w.transposed));
    operation.tensor(DNNL_ARG_DIFF_DST, grad_output);
    operation.key.numbers = numbers;
    operation.run(build_data<P>);
  }
  if (grad_weight != nullptr) {
    Operation operation(level, P::kind);
    operation.key.propagation = dnnl::prop_kind::backward_weights;
    operation.tensor(DNNL_ARG_SRC, input);
    operation.tensor(DNNL_ARG_DIFF_WEIGHTS, *grad_weight,
                     grouped_weights(*grad_weight, w.groups, w.transposed));
    operation.tensor(DNNL_ARG_DIFF_DST, grad_output);
    if (grad_bias != nullptr) operation.tensor(DNNL_ARG_DIFF_BIAS, *grad_bias);
    operation.key.numbers = numbers;
    operation.run(build_weights<P>);
  }
}

void convolution_backward(const Level& level, const View& grad_output, const View& input, const View& weight,
                          std::optional<std::span<const std::int64_t>> /*bias_sizes*/,
                          std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                          std::span<const std::int64_t> dilation, bool transposed,
                          std::span<const std::int64_t> /*output_padding*/, std::int64_t groups,
                          std::span<const std::int64_t> output_mask, View& grad_input, View& grad_weight,
                          View& grad_bias) {
  if (std::ranges::count(output_mask, 0) == 3) throw Refused("oneDNN is not called for no gradient at all");
  if (output_mask[2] != 0 && output_mask[1] == 0)
    throw Refused("oneDNN gives the bias's gradient only together with the weight's");
  if (output_mask[2] != 0 && grad_bias.size(0) > 1 && grad_bias.stride(0) != 1)
    throw Refused(
        "oneDNN writes a bias's gradient as if its elements were neighbours, whatever their stride");
  const auto asked = [&](std::size_t k, View& result) { return output_mask[k] != 0 ? &result : nullptr; };
  const auto run = transposed ? gradients<Transposed> : gradients<Plain>;
  run(level, grad_output, input, weight, {stride, padding, dilation, transposed, groups},
      asked(0, grad_input), asked(1, grad_weight), asked(2, grad_bias));
}

constexpr const char* kSource = "optimized/onednn/convolution_backward.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::convolution_backward, convolution_backward, kSse41>(kConvolution, kSource),
    kernel_at<ops::convolution_backward, convolution_backward, kAvx2>(kConvolution, kSource),
    kernel_at<ops::convolution_backward, convolution_backward, kAvx512>(kConvolution, kSource),
    kernel_at<ops::convolution_backward, convolution_backward, kAvx512Bf16>(kNativeBf16Convolution, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
