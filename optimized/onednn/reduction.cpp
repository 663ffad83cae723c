// Sums, means and maxima by oneDNN's reduction primitive.
#include "operation.h"
#include "ops/amax.h"
#include "ops/sum.h"
#include "vocabulary/axes.h"

namespace assay::onednn {
namespace {

using dnnl::algorithm;
using AxisList = std::optional<std::span<const std::int64_t>>;

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::reduction::desc desc(key.algorithm, key.memories[0].make(), key.memories[1].make(), 0, 0);
  return dnnl::reduction::primitive_desc(desc, key.attributes.make(), engine);
}

// The result with a 1 in the place of each reduced dimension, which is how oneDNN says what is reduced.
Descriptor kept(const View& self, const Axes& axes, bool keepdim, const View& out) {
  Descriptor d = describe(self);
  const Descriptor result = describe(out);
  d.dtype = result.dtype;
  for (int i = self.rank() - 1, o = out.rank() - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const bool reduced = axes.contains(i);
    d.sizes[at] = reduced ? 1 : self.size(i);
    if (!reduced) {
      d.strides[at] = result.strides[static_cast<std::size_t>(o)];
    } else {  // as if the dimensions after it were dense
      const bool last = i == self.rank() - 1;
      d.strides[at] = last ? 1 : d.sizes[at + 1] * d.strides[at + 1];
    }
    if (!reduced || keepdim) --o;
  }
  return d;
}

template <algorithm how>
void reduction(const Level& level, const View& self, const Axes& axes, bool keepdim, View& out) {
  refuse_integers(out);
  Operation operation(level, dnnl::primitive::kind::reduction);
  operation.key.algorithm = how;
  operation.tensor(DNNL_ARG_SRC, self);
  operation.tensor(DNNL_ARG_DST, out, kept(self, axes, keepdim, out));
  if (bytes(self.type()) > bytes(out.type()))
    throw Refused("oneDNN's reduction rounds to a smaller dtype at the end, the operator at the beginning");
  if (self.numel() == 0 && out.numel() != 0)
    throw Refused("oneDNN computes nothing where its input has no elements");
  operation.run(build);
}

template <algorithm how>
void sum(const Level& level, const View& self, AxisList dim, bool keepdim, std::optional<Dtype>, View& out) {
  reduction<how>(level, self, Axes(dim, self.rank()), keepdim, out);
}

void amax(const Level& level, const View& self, std::span<const std::int64_t> dim, bool keepdim, View& out) {
  reduction<algorithm::reduction_max>(level, self, Axes(dim, self.rank()), keepdim, out);
}

constexpr std::string_view kDispatch =
    "layout_invariant=no row_invariant=no -- oneDNN src/cpu/x64/jit_uni_reduction.cpp, init: dense dimensions at the "
    "end are summed by vectors, others by src/cpu/ref_reduction.cpp, one after the other";
constexpr std::string_view kMaximum =
    "signed_zero=ignore nonfinite=unspecified -- oneDNN src/cpu/ref_reduction.cpp, accumulate: nstl::max, a > b, "
    "from the lowest finite number; MAXPS in src/cpu/x64/jit_uni_reduction_kernel.cpp";
constexpr auto kSum = kJoined<kDispatch>;
constexpr auto kSumBf16 = kJoined<kDispatch, kFlushedStore>;
constexpr auto kMax = kJoined<kDispatch, kMaximum>;
constexpr auto kMaxBf16 = kJoined<kDispatch, kMaximum, kFlushedStore>;
constexpr const char* kSource = "optimized/onednn/reduction.cpp";

#define ASSAY_ONEDNN_REDUCTION(op, function, contract, native_bf16)                                      \
  kernel_at<op, function, kSse41>(contract, kSource), kernel_at<op, function, kAvx2>(contract, kSource), \
      kernel_at<op, function, kAvx512>(contract, kSource),                                               \
      kernel_at<op, function, kAvx512Bf16>(native_bf16, kSource)

constexpr assay_kernel kernels[] = {
    ASSAY_ONEDNN_REDUCTION(ops::sum_dim_int_list, sum<algorithm::reduction_sum>, kSum, kSumBf16),
    ASSAY_ONEDNN_REDUCTION(ops::mean_dim, sum<algorithm::reduction_mean>, kSum, kSumBf16),
    ASSAY_ONEDNN_REDUCTION(ops::amax, amax, kMax, kMaxBf16),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
