// Operators of two tensors by oneDNN's binary primitive: alpha of sums is the scale of its second source.
#include "ops/binary.h"
#include "operation.h"

namespace assay::onednn {
namespace {

using dnnl::algorithm;

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::binary::desc desc(key.algorithm, key.memories[0].make(), key.memories[1].make(),
                                key.memories[2].make());
  return dnnl::binary::primitive_desc(desc, key.attributes.make(), engine);
}

void run(const Level& level, algorithm how, const View& self, const View& other, View& out, float scale = 1) {
  refuse_integers(out);
  Operation operation(level, dnnl::primitive::kind::binary);
  operation.key.algorithm = how;
  const Descriptor result = describe(out);
  operation.tensor(DNNL_ARG_SRC_0, self, with_rank(describe(self), result.rank));
  operation.tensor(DNNL_ARG_SRC_1, other, with_rank(describe(other), result.rank));
  operation.tensor(DNNL_ARG_DST, out, result);
  if (bytes(self.type()) > bytes(out.type()) || bytes(other.type()) > bytes(out.type()))
    throw Refused(
        "oneDNN's binary takes a wider operand as it is, the operator rounds it to the result's dtype first");
  // It checks the dtype of its result only, and reads bf16 as f32 where it has no code for bf16.
  const bool bf16 = self.type() == Dtype::bf16 || other.type() == Dtype::bf16;
  if (bf16 && (level.isa == dnnl::cpu_isa::sse41 || level.isa == dnnl::cpu_isa::avx2))
    throw Refused("oneDNN computes in bf16 from AVX512_CORE on");
  if (scale != 1) operation.key.attributes.scales = {{DNNL_ARG_SRC_1, 0, {{scale}}}};
  operation.run(build);
}

template <algorithm how>
void plain(const Level& level, const View& self, const View& other, View& out) {
  run(level, how, self, other, out);
}

template <algorithm how>
void scaled(const Level& level, const View& self, const View& other, Scalar alpha, View& out) {
  run(level, how, self, other, out, static_cast<float>(alpha.real));
}

constexpr std::string_view kInPlace =
    "in_place=yes -- oneDNN developer guide, Binary, General notes: source 0 may be used as the destination";
constexpr std::string_view kMaximum =
    "signed_zero=ignore nonfinite=unspecified -- oneDNN src/cpu/x64/injectors/jit_uni_binary_injector.cpp, "
    "execute_binary: MAXPS gives its second operand for NaN and of two zeros";
constexpr auto kContract = kJoined<kInPlace>;
constexpr auto kNativeBf16 = kJoined<kInPlace, kFlushedStore>;
constexpr const char* kSource = "optimized/onednn/binary.cpp";

constexpr auto kMaximumContract = kJoined<kInPlace, kMaximum>;
constexpr auto kMaximumNativeBf16 = kJoined<kInPlace, kMaximum, kFlushedStore>;

#define ASSAY_ONEDNN_BINARY(op, function, contract, native_bf16)                                         \
  kernel_at<op, function, kSse41>(contract, kSource), kernel_at<op, function, kAvx2>(contract, kSource), \
      kernel_at<op, function, kAvx512>(contract, kSource),                                               \
      kernel_at<op, function, kAvx512Bf16>(native_bf16, kSource)

constexpr assay_kernel kernels[] = {
    ASSAY_ONEDNN_BINARY(ops::add_tensor, scaled<algorithm::binary_add>, kContract, kNativeBf16),
    ASSAY_ONEDNN_BINARY(ops::sub_tensor, scaled<algorithm::binary_sub>, kContract, kNativeBf16),
    ASSAY_ONEDNN_BINARY(ops::mul_tensor, plain<algorithm::binary_mul>, kContract, kNativeBf16),
    ASSAY_ONEDNN_BINARY(ops::div_tensor, plain<algorithm::binary_div>, kContract, kNativeBf16),
    ASSAY_ONEDNN_BINARY(ops::maximum, plain<algorithm::binary_max>, kMaximumContract, kMaximumNativeBf16),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
