// mm by oneDNN's matmul primitive.
#include "ops/mm.h"

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::matmul::desc desc(key.memories[0].make(), key.memories[1].make(), key.memories[2].make());
  return dnnl::matmul::primitive_desc(desc, key.attributes.make(), engine);
}

void mm(const Level& level, const View& self, const View& mat2, View& out) {
  // Creating the primitive would divide by zero and kill the process.
  if (self.numel() == 0 || mat2.numel() == 0) throw Refused("oneDNN's matmul divides by a size of zero");
  Operation operation(level, dnnl::primitive::kind::matmul);
  operation.tensor(DNNL_ARG_SRC, self);
  operation.tensor(DNNL_ARG_WEIGHTS, mat2);
  operation.tensor(DNNL_ARG_DST, out);
  operation.run(build);
}

constexpr std::string_view kRows =
    "row_invariant=no -- github.com/oneapi-src/oneDNN/issues/789: results of a row vary with the batch";
constexpr std::string_view kThreads =
    "thread_invariant=no -- github.com/oneapi-src/oneDNN/issues/1443: no guarantee when the number of "
    "threads changes";
constexpr std::string_view kDispatch =
    "layout_invariant=no -- oneDNN src/cpu/matmul/cpu_matmul_list.cpp: brgemm, gemm or ref, by what each "
    "one's init accepts";
constexpr std::string_view kFlushed =
    "bf16: ftz=yes daz=yes -- VDPBF16PS (Intel SDM): output denormals are always flushed to zero and input "
    "denormals are always treated as zero; oneDNN developer guide, Data types: so do the AMX instructions";
constexpr auto kContract = kJoined<kRows, kThreads, kDispatch>;
constexpr auto kNativeBf16 = kJoined<kRows, kThreads, kDispatch, kFlushed>;
constexpr const char* kSource = "optimized/onednn/mm.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::mm, mm, kSse41>(kContract, kSource),
    kernel_at<ops::mm, mm, kAvx2>(kContract, kSource),
    kernel_at<ops::mm, mm, kAvx512>(kContract, kSource),
    kernel_at<ops::mm, mm, kAvx512Bf16>(kNativeBf16, kSource),
    kernel_at<ops::mm, mm, kAmx>(kNativeBf16, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
