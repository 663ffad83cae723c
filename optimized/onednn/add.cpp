// add.Tensor by oneDNN's binary primitive: alpha is the scale of its second source.
#include "ops/add.h"

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::binary::desc desc(key.algorithm, key.memories[0].make(), key.memories[1].make(),
                                key.memories[2].make());
  return dnnl::binary::primitive_desc(desc, key.attributes.make(), engine);
}

void add(const Level& level, const View& self, const View& other, Scalar alpha, View& out) {
  Operation operation(level, dnnl::primitive::kind::binary);
  operation.key.algorithm = dnnl::algorithm::binary_add;
  const Descriptor result = describe(out);
  operation.tensor(DNNL_ARG_SRC_0, self, with_rank(describe(self), result.rank));
  operation.tensor(DNNL_ARG_SRC_1, other, with_rank(describe(other), result.rank));
  operation.tensor(DNNL_ARG_DST, out, result);
  if (bytes(self.type()) > bytes(out.type()) || bytes(other.type()) > bytes(out.type()))
    throw Refused(
        "oneDNN's binary adds a wider operand as it is, the operator rounds it to the result's dtype first");
  // It checks the dtype of its result only, and reads bf16 as f32 where it has no code for bf16.
  const bool bf16 = self.type() == Dtype::bf16 || other.type() == Dtype::bf16;
  if (bf16 && (level.isa == dnnl::cpu_isa::sse41 || level.isa == dnnl::cpu_isa::avx2))
    throw Refused("oneDNN computes in bf16 from AVX512_CORE on");
  const auto scale = static_cast<float>(alpha.real);
  if (scale != 1) operation.key.attributes.scales = {{DNNL_ARG_SRC_1, 0, {{scale}}}};
  operation.run(build);
}

constexpr std::string_view kInPlace =
    "in_place=yes -- oneDNN developer guide, Binary, General notes: source 0 may be used as the destination";
constexpr auto kContract = kJoined<kInPlace>;
constexpr auto kNativeBf16 = kJoined<kInPlace, kFlushedStore>;
constexpr const char* kSource = "optimized/onednn/add.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::add_tensor, add, kSse41>(kContract, kSource),
    kernel_at<ops::add_tensor, add, kAvx2>(kContract, kSource),
    kernel_at<ops::add_tensor, add, kAvx512>(kContract, kSource),
    kernel_at<ops::add_tensor, add, kAvx512Bf16>(kNativeBf16, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
