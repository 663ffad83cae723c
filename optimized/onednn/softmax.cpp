// softmax.int by oneDNN's softmax_v2 primitive, whose source and destination may differ in strides and dtype.
#include "ops/softmax.h"

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::softmax_v2_forward::desc desc(key.propagation, key.algorithm, key.memories[0].make(),
                                            key.memories[1].make(), key.axis);
  return dnnl::softmax_v2_forward::primitive_desc(desc, key.attributes.make(), engine);
}

void softmax(const Level& level, const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  Operation operation(level, dnnl::primitive::kind::softmax_v2);
  operation.key.propagation = dnnl::prop_kind::forward_inference;
  operation.key.algorithm = dnnl::algorithm::softmax_accurate;
  operation.tensor(DNNL_ARG_SRC, self);
  operation.tensor(DNNL_ARG_DST, out);
  if (bytes(self.type()) > bytes(out.type()))
    throw Refused("oneDNN's softmax rounds to a smaller dtype at the end, the operator at the beginning");
  operation.key.axis = static_cast<int>(dim < 0 ? dim + operation.key.memories[0].rank : dim);
  operation.run(build);
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
constexpr const char* kSource = "optimized/onednn/softmax.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::softmax_int, softmax, kSse41>(kNoFma, kSource),
    kernel_at<ops::softmax_int, softmax, kAvx2>(kContract, kSource),
    kernel_at<ops::softmax_int, softmax, kAvx512>(kContract, kSource),
    kernel_at<ops::softmax_int, softmax, kAvx512Bf16>(kContract, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
