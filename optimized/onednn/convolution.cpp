// convolution by oneDNN's convolution and deconvolution primitives.
#include "convolution.h"

#include "ops/convolution.h"

namespace assay::onednn {

std::vector<std::int64_t> window_numbers(const View& input, const View& weight, const View& out,
                                         std::span<const std::int64_t> stride,
                                         std::span<const std::int64_t> padding,
                                         std::span<const std::int64_t> dilation, bool transposed) {
  const auto of = [](std::span<const std::int64_t> list, std::size_t d) {
    return list.size() == 1 ? list[0] : list[d];
  };
  const auto n = static_cast<std::size_t>(input.rank() - 2);
  std::vector<std::int64_t> numbers, behind;
  for (std::size_t d = 0; d < n; ++d) {
    const int at = static_cast<int>(d) + 2;
    const std::int64_t extent = of(dilation, d) * (weight.size(at) - 1) + 1;
    const std::int64_t small = transposed ? input.size(at) : out.size(at),
                       large = transposed ? out.size(at) : input.size(at);
    behind.push_back((small - 1) * of(stride, d) + extent - large - of(padding, d));
  }
  for (std::size_t d = 0; d < n; ++d) numbers.push_back(of(stride, d));
  for (std::size_t d = 0; d < n; ++d) numbers.push_back(of(dilation, d) - 1);
  for (std::size_t d = 0; d < n; ++d) numbers.push_back(of(padding, d));
  numbers.insert(numbers.end(), behind.begin(), behind.end());
  return numbers;
}

Descriptor grouped_weights(const View& weight, std::int64_t groups, bool transposed) {
  const Descriptor plain = describe(weight);
  Descriptor d = plain;
  if (groups > 1) {
    d.rank = plain.rank + 1;
    if (d.rank > DNNL_MAX_NDIMS) throw Refused("oneDNN has too few dimensions for groups");
    for (int i = plain.rank; i > 0; --i) {
      d.sizes[static_cast<std::size_t>(i)] = plain.sizes[static_cast<std::size_t>(i - 1)];
      d.strides[static_cast<std::size_t>(i)] = plain.strides[static_cast<std::size_t>(i - 1)];
    }
    d.sizes[0] = groups;
    d.sizes[1] = plain.sizes[0] / groups;
    d.strides[0] = d.sizes[1] * plain.strides[0];
  }
  const std::size_t first = groups > 1 ? 1 : 0;
  if (transposed) {
    std::swap(d.sizes[first], d.sizes[first + 1]);
    std::swap(d.strides[first], d.strides[first + 1]);
  }
  return d;
}

namespace {

// The description of either primitive, with a bias or without one.
template <class Primitive>
typename Primitive::primitive_desc described(const PrimitiveKey& key, const dnnl::engine& engine,
                                             dnnl::algorithm algorithm) {
  const auto& m = key.memories;
  const WindowNumbers n(key);
  const auto description = [&] {
    if (m.size() == 3)
      return typename Primitive::desc(dnnl::prop_kind::forward_inference, algorithm, m[0].make(), m[1].make(),
                                      m[2].make(), n.part(0), n.part(1), n.part(2), n.part(3));
    return typename Primitive::desc(dnnl::prop_kind::forward_inference, algorithm, m[0].make(), m[1].make(),
                                    m[3].make(), m[2].make(), n.part(0), n.part(1), n.part(2), n.part(3));
  }();
  return {description, key.attributes.make(), engine};
}

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  return described<dnnl::convolution_forward>(key, engine, dnnl::algorithm::convolution_direct);
}
dnnl::primitive_desc_base build_transposed(const PrimitiveKey& key, const dnnl::engine& engine) {
  return described<dnnl::deconvolution_forward>(key, engine, dnnl::algorithm::deconvolution_direct);
}

void convolution(const Level& level, const View& input, const View& weight, const View* bias,
                 std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                 std::span<const std::int64_t> dilation, bool transposed,
                 std::span<const std::int64_t> /*output_padding*/, std::int64_t groups, View& out) {
  refuse_integers(out);
  if (bias != nullptr && bias->size(0) > 1 && bias->stride(0) != 1)
    throw Refused(
        "oneDNN's convolution reads a bias as if its elements were neighbours, whatever their stride");
  if (transposed && bias != nullptr)
    throw Refused("oneDNN's deconvolution writes outside of its output when it adds a bias");
  Operation operation(level,
                      transposed ? dnnl::primitive::kind::deconvolution : dnnl::primitive::kind::convolution);
  operation.tensor(DNNL_ARG_SRC, input);
  operation.tensor(DNNL_ARG_WEIGHTS, weight, grouped_weights(weight, groups, transposed));
  operation.tensor(DNNL_ARG_DST, out);
  if (bias != nullptr) operation.tensor(DNNL_ARG_BIAS, *bias);
  operation.key.numbers = window_numbers(input, weight, out, stride, padding, dilation, transposed);
  operation.run(transposed ? build_transposed : build);
}

constexpr const char* kSource = "optimized/onednn/convolution.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::convolution, convolution, kSse41>(kConvolution, kSource),
    kernel_at<ops::convolution, convolution, kAvx2>(kConvolution, kSource),
    kernel_at<ops::convolution, convolution, kAvx512>(kConvolution, kSource),
    kernel_at<ops::convolution, convolution, kAvx512Bf16>(kNativeBf16Convolution, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
