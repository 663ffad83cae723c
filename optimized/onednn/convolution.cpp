// convolution by oneDNN's convolution and deconvolution primitives.
#include "ops/convolution.h"

#include <span>

#include "operation.h"

namespace assay::onednn {
namespace {

// key.numbers: strides, dilations less one, padding before, padding behind; each for every dimension of the image.
struct Numbers {
  explicit Numbers(const PrimitiveKey& key) : all(key.numbers) {}
  dnnl::memory::dims part(std::size_t i) const {
    const auto n = static_cast<std::ptrdiff_t>(all.size() / 4);
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(i) * n;
    return {from, from + n};
  }
  const std::vector<std::int64_t>& all;
};

// The description of either primitive, with a bias or without one.
template <class Primitive>
typename Primitive::primitive_desc described(const PrimitiveKey& key, const dnnl::engine& engine,
                                             dnnl::algorithm algorithm) {
  const auto& m = key.memories;
  const Numbers n(key);
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

// [groups, outputs, inputs, window] of a weight whose outputs are its first dimension, or, transposed, its second.
Descriptor weights(const View& weight, std::int64_t groups, bool transposed) {
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

void convolution(const Level& level, const View& input, const View& weight, const View* bias,
                 std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                 std::span<const std::int64_t> dilation, bool transposed,
                 std::span<const std::int64_t> /*output_padding*/, std::int64_t groups, View& out) {
  if (bias != nullptr && bias->size(0) > 1 && bias->stride(0) != 1)
    throw Refused(
        "oneDNN's convolution reads a bias as if its elements were neighbours, whatever their stride");
  if (transposed && bias != nullptr)
    throw Refused("oneDNN's deconvolution writes outside of its output when it adds a bias");
  const auto of = [](std::span<const std::int64_t> list, std::size_t d) {
    return list.size() == 1 ? list[0] : list[d];
  };
  Operation operation(level,
                      transposed ? dnnl::primitive::kind::deconvolution : dnnl::primitive::kind::convolution);
  operation.tensor(DNNL_ARG_SRC, input);
  operation.tensor(DNNL_ARG_WEIGHTS, weight, weights(weight, groups, transposed));
  operation.tensor(DNNL_ARG_DST, out);
  if (bias != nullptr) operation.tensor(DNNL_ARG_BIAS, *bias);
  const auto n = static_cast<std::size_t>(input.rank() - 2);
  std::vector<std::int64_t> behind;
  for (std::size_t d = 0; d < n; ++d) {
    const int at = static_cast<int>(d) + 2;
    const std::int64_t extent = of(dilation, d) * (weight.size(at) - 1) + 1;
    const std::int64_t small = transposed ? input.size(at) : out.size(at),
                       large = transposed ? out.size(at) : input.size(at);
    behind.push_back((small - 1) * of(stride, d) + extent - large - of(padding, d));
  }
  for (std::size_t d = 0; d < n; ++d) operation.key.numbers.push_back(of(stride, d));
  for (std::size_t d = 0; d < n; ++d) operation.key.numbers.push_back(of(dilation, d) - 1);
  for (std::size_t d = 0; d < n; ++d) operation.key.numbers.push_back(of(padding, d));
  operation.key.numbers.insert(operation.key.numbers.end(), behind.begin(), behind.end());
  operation.run(transposed ? build_transposed : build);
}

constexpr std::string_view kRows =
    "row_invariant=no -- oneDNN src/cpu/gemm_convolution_utils.cpp: blocks and threads depend on the batch";
constexpr std::string_view kThreads =
    "thread_invariant=no -- github.com/oneapi-src/oneDNN/issues/1443: no guarantee when the number of "
    "threads changes";
constexpr std::string_view kDispatch =
    "layout_invariant=no -- oneDNN src/cpu/cpu_convolution_list.cpp: jit, gemm or ref, by what each one's init "
    "accepts";
constexpr std::string_view kFlushed =
    "bf16: ftz=yes daz=yes -- VDPBF16PS (Intel SDM): output denormals are always flushed to zero and input "
    "denormals are always treated as zero";
constexpr auto kContract = kJoined<kRows, kThreads, kDispatch>;
constexpr auto kNativeBf16 = kJoined<kRows, kThreads, kDispatch, kFlushed>;
constexpr const char* kSource = "optimized/onednn/convolution.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::convolution, convolution, kSse41>(kContract, kSource),
    kernel_at<ops::convolution, convolution, kAvx2>(kContract, kSource),
    kernel_at<ops::convolution, convolution, kAvx512>(kContract, kSource),
    kernel_at<ops::convolution, convolution, kAvx512Bf16>(kNativeBf16, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
