// relu by oneDNN's eltwise primitive, which has one memory descriptor for source and destination.
//
// Its reference implementation (src/cpu/ref_eltwise.cpp, execute_forward_generic), which takes what is not
// dense, walks five dimensions named N, C, D, H, W: of one dimension it computes nothing, since C is then 0,
// and of six or more it walks the wrong ones. Hence the dimension of size 1 in front, and the refusal.
#include "ops/relu.h"

#include <algorithm>

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::eltwise_forward::desc desc(key.propagation, key.algorithm, key.memories[0].make(), 0, 0);
  const dnnl::eltwise_forward::primitive_desc description(desc, key.attributes.make(), engine);
  if (key.memories[0].rank > 5 && description.impl_info_str() == std::string_view("ref:any"))
    throw Refused(
        "oneDNN's eltwise walks the wrong elements of tensors with gaps and more than 5 dimensions");
  return description;
}

void relu(const Level& level, const View& self, View& out) {
  Operation operation(level, dnnl::primitive::kind::eltwise);
  operation.key.propagation = dnnl::prop_kind::forward_inference;
  operation.key.algorithm = dnnl::algorithm::eltwise_relu;
  const int rank = std::max(2, self.rank());
  operation.tensor(DNNL_ARG_SRC, self, with_rank(describe(self), rank));
  operation.tensor(DNNL_ARG_DST, out, with_rank(describe(out), rank));
  if (operation.key.memories[0] != operation.key.memories[1])
    throw Refused("oneDNN's eltwise wants the result to have the strides of its input");
  operation.run(build);
}

constexpr std::string_view kInPlace =
    "in_place=yes -- oneDNN API reference, Eltwise: src and dst can refer to the same memory";
constexpr std::string_view kZeros =
    "signed_zero=ignore layout_invariant=no -- oneDNN src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, "
    "relu_zero_ns_compute_vector_fwd: max(s, 0); where memory is not dense src/common/math_utils.hpp, "
    "relu_fwd: s * 0";
constexpr std::string_view kNonfinite =
    "nonfinite=unspecified -- the same two functions: MAXPS(NaN, 0) is 0, and -inf * 0 is NaN";
constexpr auto kContract = kJoined<kInPlace, kZeros, kNonfinite>;
constexpr auto kNativeBf16 = kJoined<kInPlace, kZeros, kNonfinite, kFlushedStore>;
constexpr const char* kSource = "optimized/onednn/relu.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::relu, relu, kSse41>(kContract, kSource),
    kernel_at<ops::relu, relu, kAvx2>(kContract, kSource),
    kernel_at<ops::relu, relu, kAvx512>(kContract, kSource),
    kernel_at<ops::relu, relu, kAvx512Bf16>(kNativeBf16, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
