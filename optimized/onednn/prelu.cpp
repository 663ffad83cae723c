// prelu and its gradient by oneDNN's prelu primitive. The slopes get dimensions of size 1 around the
// channels'.
#include "ops/prelu.h"

#include "operation.h"

namespace assay::onednn {
namespace {

// For dense memory, oneDNN tells N, C, spatial from N, spatial, C by the strides of the first three
// dimensions alone (src/cpu/x64/prelu/jit_prelu_utils.cpp, get_bcast_type): with a spatial dimension outside
// the channels it takes the wrong slopes.
template <class Description>
Description trusted(Description description, const Descriptor& data) {
  bool spatial_inside = true;
  for (std::size_t d = 2; d < static_cast<std::size_t>(data.rank); ++d)
    spatial_inside &= data.sizes[d] == 1 || data.strides[d] <= data.strides[1];
  if (description.impl_info_str() == std::string_view("jit_uni") && data.strides[1] != 1 && !spatial_inside)
    throw Refused("oneDNN's prelu takes the wrong slopes when dimension 1 has a spatial dimension outside");
  return description;
}

dnnl::prelu_forward::primitive_desc forward(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::prelu_forward::desc desc(dnnl::prop_kind::forward_training, key.memories[0].make(),
                                       key.memories[1].make());
  return {desc, key.attributes.make(), engine};
}

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  return trusted(forward(key, engine), key.memories[0]);
}

dnnl::primitive_desc_base build_backward(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::prelu_backward::desc desc(key.memories[0].make(), key.memories[1].make(),
                                        key.memories[2].make(), key.memories[4].make());
  return trusted(
      dnnl::prelu_backward::primitive_desc(desc, key.attributes.make(), engine, forward(key, engine)),
      key.memories[0]);
}

// One slope for each channel (dimension 1) of a tensor of this rank, or one for all.
Descriptor slopes(const View& weight, int rank) {
  const Descriptor vector = describe(weight);
  Descriptor d;
  d.dtype = vector.dtype;
  d.rank = rank;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool channels = i == 1;
    d.sizes[at] = channels ? vector.sizes[0] : 1;
    d.strides[at] = i == 0 ? vector.sizes[0] * vector.strides[0] : vector.strides[0];
  }
  return d;
}

void prelu(const Level& level, const View& self, const View& weight, View& out) {
  Operation operation(level, dnnl::primitive::kind::prelu);
  operation.key.propagation = dnnl::prop_kind::forward_training;
  operation.tensor(DNNL_ARG_SRC, self);
  operation.tensor(DNNL_ARG_WEIGHTS, weight, slopes(weight, operation.key.memories[0].rank));
  operation.tensor(DNNL_ARG_DST, out);
  if (operation.key.memories[0] != operation.key.memories[2])
    throw Refused("oneDNN's prelu wants the result to have the strides of its input");
  operation.run(build);
}

void prelu_backward(const Level& level, const View& grad_output, const View& self, const View& weight,
                    View& grad_self, View& grad_weight) {
  // Without channels it divides by zero and kills the process; without rows it returns and leaves grad_weight
  // as is.
  if (self.numel() == 0) throw Refused("oneDNN's prelu gradient does not handle empty tensors");
  Operation operation(level, dnnl::primitive::kind::prelu);
  operation.key.propagation = dnnl::prop_kind::backward;
  operation.tensor(DNNL_ARG_SRC, self);
  const int rank = operation.key.memories[0].rank;
  operation.tensor(DNNL_ARG_WEIGHTS, weight, slopes(weight, rank));
  operation.tensor(DNNL_ARG_DIFF_DST, grad_output);
  operation.tensor(DNNL_ARG_DIFF_SRC, grad_self);
  operation.tensor(DNNL_ARG_DIFF_WEIGHTS, grad_weight, slopes(grad_weight, rank));
  // It takes the offsets of self for the gradients too, whatever their descriptors say, and those of weight
  // for grad_weight (src/cpu/ref_prelu.cpp, ker; src/cpu/x64/prelu/jit_prelu_backward.cpp, execute).
  const std::vector<Descriptor>& memories = operation.key.memories;
  if (memories[0] != memories[2] || memories[0] != memories[3])
    throw Refused("oneDNN's prelu wants grad_output and grad_self to have the strides of self");
  if (memories[1] != memories[4])
    throw Refused("oneDNN's prelu wants grad_weight to have the strides of weight");
  operation.run(build_backward);
}

constexpr std::string_view kForward =
    "signed_zero=ignore nonfinite=unspecified -- oneDNN src/cpu/x64/prelu/jit_uni_prelu_forward_kernel.cpp, "
    "compute_dst: max(x, 0) + w * min(x, 0), so -0 may become 0, and NaN or inf of a slope reaches x > 0";
constexpr std::string_view kForwardLayout =
    "layout_invariant=no -- oneDNN src/cpu/ref_prelu.cpp, execute_forward, takes what is not dense: x > 0 ? "
    "x : w * x";
constexpr std::string_view kBackward =
    "signed_zero=ignore nonfinite=unspecified -- oneDNN src/cpu/x64/prelu/jit_uni_prelu_backward_kernel.cpp, "
    "compute_dst: g * ((x > 0) + (x <= 0) * w) with comparisons as 0 and 1, so NaN is on neither side and "
    "inf * 0 is NaN";
constexpr std::string_view kBackwardOrder =
    "layout_invariant=no thread_invariant=no -- oneDNN src/cpu/x64/prelu/jit_prelu_backward.cpp, execute, "
    "and src/cpu/ref_prelu.cpp, reduce: partial sums of grad_weight by layout and thread";
constexpr auto kContract = kJoined<kForward, kForwardLayout>;
constexpr auto kNativeBf16 = kJoined<kForward, kForwardLayout, kFlushedStore>;
constexpr auto kBackwardContract = kJoined<kBackward, kBackwardOrder>;
constexpr auto kBackwardNativeBf16 = kJoined<kBackward, kBackwardOrder, kFlushedStore>;
constexpr const char* kSource = "optimized/onednn/prelu.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::prelu, prelu, kSse41>(kContract, kSource),
    kernel_at<ops::prelu, prelu, kAvx2>(kContract, kSource),
    kernel_at<ops::prelu, prelu, kAvx512>(kContract, kSource),
    kernel_at<ops::prelu, prelu, kAvx512Bf16>(kNativeBf16, kSource),
    kernel_at<ops::prelu_backward, prelu_backward, kSse41>(kBackwardContract, kSource),
    kernel_at<ops::prelu_backward, prelu_backward, kAvx2>(kBackwardContract, kSource),
    kernel_at<ops::prelu_backward, prelu_backward, kAvx512>(kBackwardContract, kSource),
    kernel_at<ops::prelu_backward, prelu_backward, kAvx512Bf16>(kBackwardNativeBf16, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
