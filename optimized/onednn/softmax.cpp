// Softmax, its logarithm and their gradients by oneDNN's softmax_v2 primitive, whose tensors may differ in strides and
// dtype.
#include "ops/softmax.h"

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::softmax_v2_forward::primitive_desc forward(const PrimitiveKey& key, std::size_t from, std::size_t to,
                                                 const dnnl::engine& engine) {
  const dnnl::softmax_v2_forward::desc desc(key.propagation, key.algorithm, key.memories[from].make(),
                                            key.memories[to].make(), key.axis);
  return {desc, key.attributes.make(), engine};
}

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  return forward(key, 0, 1, engine);
}

dnnl::primitive_desc_base build_backward(const PrimitiveKey& key, const dnnl::engine& engine) {
  PrimitiveKey hint = key;
  hint.propagation = dnnl::prop_kind::forward_training;
  const dnnl::softmax_v2_backward::desc desc(key.algorithm, key.memories[2].make(), key.memories[0].make(),
                                             key.memories[1].make(), key.axis);
  return dnnl::softmax_v2_backward::primitive_desc(desc, key.attributes.make(), engine,
                                                   forward(hint, 2, 1, engine));
}

template <dnnl::algorithm algorithm>
void softmax(const Level& level, const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  Operation operation(level, dnnl::primitive::kind::softmax_v2);
  operation.key.propagation = dnnl::prop_kind::forward_inference;
  operation.key.algorithm = algorithm;
  operation.tensor(DNNL_ARG_SRC, self);
  operation.tensor(DNNL_ARG_DST, out);
  if (bytes(self.type()) > bytes(out.type()))
    throw Refused("oneDNN's softmax rounds to a smaller dtype at the end, the operator at the beginning");
  operation.key.axis = static_cast<int>(dim < 0 ? dim + operation.key.memories[0].rank : dim);
  operation.run(build);
}

template <dnnl::algorithm algorithm>
void backward(const Level& level, const View& grad_output, const View& output, std::int64_t dim, Dtype,
              View& grad_self) {
  Operation operation(level, dnnl::primitive::kind::softmax_v2);
  operation.key.propagation = dnnl::prop_kind::backward;
  operation.key.algorithm = algorithm;
  operation.tensor(DNNL_ARG_DIFF_DST, grad_output);
  operation.tensor(DNNL_ARG_DST, output);
  operation.tensor(DNNL_ARG_DIFF_SRC, grad_self);
  // With other strides it writes between the elements of grad_self.
  const std::vector<Descriptor>& memories = operation.key.memories;
  if (memories[0] != memories[1] || memories[0] != memories[2])
    throw Refused("oneDNN's softmax gradient wants all tensors to have the same strides");
  operation.key.axis = static_cast<int>(dim < 0 ? dim + operation.key.memories[0].rank : dim);
  operation.run(build_backward);
}

// The error of exp was measured on the eltwise primitive of the same injector, over every float from -104 to
// -2^-12: 5.72 ulp with fused multiply-adds, 67.81 without, and 0 below 2^-125.5. A bf16 result holds the
// exponential before it is scaled, which rounds it to bf16: half a unit there is 2^15 units of f32.
constexpr std::string_view kExp =
    "f32: exp=6ulp ftz=yes tiny=1.67e-38 -- oneDNN src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, "
    "exp_compute_vector_fwd: a polynomial of degree 5, and 0 where 2^(n-1) is not normal; measured over "
    "every float";
constexpr std::string_view kExpWithoutFma =
    "f32: exp=68ulp ftz=yes tiny=1.67e-38 -- oneDNN src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, "
    "exp_compute_vector_fwd: x - n * ln2 without FMA rounds the product; measured over every float";
constexpr std::string_view kExpBf16 =
    "bf16: exp=32774ulp ftz=yes tiny=1.67e-38 -- oneDNN src/cpu/x64/jit_uni_softmax.cpp, accumulate_vsum, "
    "and src/cpu/ref_softmax.cpp: exp(x - max) is kept in the destination, in bf16, until it is divided by "
    "the sum";
constexpr std::string_view kDivision =
    "div=1 -- oneDNN src/cpu/x64/jit_uni_softmax.cpp, accumulate_vsum and compute_dst: multiplies by 1 / sum";
constexpr std::string_view kNonfinite =
    "nonfinite=unspecified -- oneDNN src/cpu/x64/jit_uni_softmax.cpp, accumulate_vmax, and "
    "exp_compute_vector_fwd: MAXPS and MINPS lose NaN";
constexpr std::string_view kDispatch =
    "layout_invariant=no row_invariant=no -- oneDNN src/cpu/x64/jit_uni_softmax.hpp, pd_t::init: rows that "
    "are not dense or have others inside them go to src/cpu/ref_softmax.cpp, which calls expf";
constexpr auto kNoFma = kJoined<kExpWithoutFma, kDivision, kNonfinite, kDispatch>;
constexpr auto kContract = kJoined<kExp, kExpBf16, kDivision, kNonfinite, kDispatch>;

// Measured on the eltwise primitive of the same injector over every float from 1 to 2^24: log(1) is -1.4e-6.
constexpr std::string_view kLog =
    "f32: log=1ulp+8e-6abs -- oneDNN src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, log_compute_vector_fwd: a "
    "table and a polynomial of degree 3, whose error is absolute; measured over every float";
constexpr std::string_view kDifferenceBf16 =
    "bf16: compute=bf16 accumulate=f32 log=0.5ulp+8e-6abs -- oneDNN src/cpu/x64/jit_uni_softmax.cpp, "
    "accumulate_vsum: x - max is kept in the destination, in bf16, until the logarithm of the sum is taken "
    "from it";
constexpr auto kLogNoFma = kJoined<kExpWithoutFma, kLog, kNonfinite, kDispatch>;
constexpr auto kLogContract = kJoined<kExp, kLog, kDifferenceBf16, kNonfinite, kDispatch>;

constexpr std::string_view kExpOfOutput =
    "f32,bf16: exp=6ulp ftz=yes tiny=1.67e-38 nonfinite=unspecified -- oneDNN "
    "src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, exp_compute_vector_fwd: a polynomial of degree 5, 0 "
    "where 2^(n-1) is not normal; MINPS and MAXPS lose NaN; measured over every float";
constexpr std::string_view kExpOfOutputWithoutFma =
    "f32: exp=68ulp ftz=yes tiny=1.67e-38 nonfinite=unspecified -- oneDNN "
    "src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, exp_compute_vector_fwd: x - n * ln2 without FMA "
    "rounds the product; MINPS and MAXPS lose NaN; measured over every float";
constexpr auto kBackward = kJoined<kDispatch>;
constexpr auto kBackwardBf16 = kJoined<kDispatch, kFlushedStore>;
constexpr auto kLogBackwardNoFma = kJoined<kExpOfOutputWithoutFma, kDispatch>;
constexpr auto kLogBackward = kJoined<kExpOfOutput, kDispatch>;
constexpr const char* kSource = "optimized/onednn/softmax.cpp";

constexpr auto kSoftmax = softmax<dnnl::algorithm::softmax_accurate>;
constexpr auto kLogSoftmax = softmax<dnnl::algorithm::softmax_log>;
constexpr auto kGradient = backward<dnnl::algorithm::softmax_accurate>;
constexpr auto kLogGradient = backward<dnnl::algorithm::softmax_log>;

constexpr assay_kernel kernels[] = {
    kernel_at<ops::softmax_int, kSoftmax, kSse41>(kNoFma, kSource),
    kernel_at<ops::softmax_int, kSoftmax, kAvx2>(kContract, kSource),
    kernel_at<ops::softmax_int, kSoftmax, kAvx512>(kContract, kSource),
    kernel_at<ops::softmax_int, kSoftmax, kAvx512Bf16>(kContract, kSource),
    kernel_at<ops::log_softmax_int, kLogSoftmax, kSse41>(kLogNoFma, kSource),
    kernel_at<ops::log_softmax_int, kLogSoftmax, kAvx2>(kLogContract, kSource),
    kernel_at<ops::log_softmax_int, kLogSoftmax, kAvx512>(kLogContract, kSource),
    kernel_at<ops::log_softmax_int, kLogSoftmax, kAvx512Bf16>(kLogContract, kSource),
    kernel_at<ops::softmax_backward_data, kGradient, kSse41>(kBackward, kSource),
    kernel_at<ops::softmax_backward_data, kGradient, kAvx2>(kBackward, kSource),
    kernel_at<ops::softmax_backward_data, kGradient, kAvx512>(kBackward, kSource),
    kernel_at<ops::softmax_backward_data, kGradient, kAvx512Bf16>(kBackwardBf16, kSource),
    kernel_at<ops::log_softmax_backward_data, kLogGradient, kSse41>(kLogBackwardNoFma, kSource),
    kernel_at<ops::log_softmax_backward_data, kLogGradient, kAvx2>(kLogBackward, kSource),
    kernel_at<ops::log_softmax_backward_data, kLogGradient, kAvx512>(kLogBackward, kSource),
    kernel_at<ops::log_softmax_backward_data, kLogGradient, kAvx512Bf16>(kLogBackward, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
