// mm, addmm, bmm and linear by oneDNN's matmul primitive.
#include "ops/mm.h"

#include <algorithm>
#include <utility>

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const auto& m = key.memories;
  const auto description = [&] {
    if (m.size() == 3) return dnnl::matmul::desc(m[0].make(), m[1].make(), m[2].make());
    return dnnl::matmul::desc(m[0].make(), m[1].make(), m[3].make(), m[2].make());
  }();
  return dnnl::matmul::primitive_desc(description, key.attributes.make(), engine);
}

// out = left right [+ bias]. `right` is what its view shows, or that transposed; all are brought to one rank.
void multiply(const Level& level, const View& left, const View& right, const Descriptor& right_as,
              const View* bias, View& out) {
  refuse_integers(out);
  // Creating the primitive would divide by zero and kill the process.
  if (left.numel() == 0 || right.numel() == 0) throw Refused("oneDNN's matmul divides by a size of zero");
  if (bias != nullptr && bias->rank() > 0 && bias->size(bias->rank() - 1) > 1 &&
      bias->stride(bias->rank() - 1) != 1)
    throw Refused("oneDNN's matmul reads a bias as if its columns were neighbours, whatever its strides");
  Operation operation(level, dnnl::primitive::kind::matmul);
  const int rank = std::max(2, out.rank());
  operation.tensor(DNNL_ARG_SRC, left, with_rank(describe(left), rank));
  operation.tensor(DNNL_ARG_WEIGHTS, right, with_rank(right_as, rank));
  operation.tensor(DNNL_ARG_DST, out, with_rank(describe(out), rank));
  if (bias != nullptr) operation.tensor(DNNL_ARG_BIAS, *bias, with_rank(describe(*bias), rank));
  operation.run(build);
}

void mm(const Level& level, const View& self, const View& mat2, View& out) {
  multiply(level, self, mat2, describe(mat2), nullptr, out);
}

void addmm(const Level& level, const View& self, const View& mat1, const View& mat2, Scalar beta,
           Scalar alpha, View& out) {
  if (beta.real != 1 || alpha.real != 1)
    throw Refused("oneDNN's matmul adds a bias as it is: beta and alpha must be 1");
  multiply(level, mat1, mat2, describe(mat2), &self, out);
}

void linear(const Level& level, const View& input, const View& weight, const View* bias, View& out) {
  Descriptor transposed = describe(weight);
  std::swap(transposed.sizes[0], transposed.sizes[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  multiply(level, input, weight, transposed, bias, out);
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
    kernel_at<ops::addmm, addmm, kSse41>(kContract, kSource),
    kernel_at<ops::addmm, addmm, kAvx2>(kContract, kSource),
    kernel_at<ops::addmm, addmm, kAvx512>(kContract, kSource),
    kernel_at<ops::addmm, addmm, kAvx512Bf16>(kNativeBf16, kSource),
    kernel_at<ops::addmm, addmm, kAmx>(kNativeBf16, kSource),
    kernel_at<ops::bmm, mm, kSse41>(kContract, kSource),
    kernel_at<ops::bmm, mm, kAvx2>(kContract, kSource),
    kernel_at<ops::bmm, mm, kAvx512>(kContract, kSource),
    kernel_at<ops::bmm, mm, kAvx512Bf16>(kNativeBf16, kSource),
    kernel_at<ops::bmm, mm, kAmx>(kNativeBf16, kSource),
    kernel_at<ops::linear, linear, kSse41>(kContract, kSource),
    kernel_at<ops::linear, linear, kAvx2>(kContract, kSource),
    kernel_at<ops::linear, linear, kAvx512>(kContract, kSource),
    kernel_at<ops::linear, linear, kAvx512Bf16>(kNativeBf16, kSource),
    kernel_at<ops::linear, linear, kAmx>(kNativeBf16, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
