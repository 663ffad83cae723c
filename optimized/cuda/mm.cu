// Matrix products: gemm.cu on views. In gemm.h stand the order of accumulation and its error.
#include "ops/mm.h"

#include "call.h"
#include "gemm.h"
#include "geometry/without.h"

namespace assay::cuda {
namespace {

// The last two dimensions of a view, as one side of a product.
GemmOperand left(const View& v) {
  const int d = v.rank() - 2;
  return {.data = v.data,
          .outer_stride = v.stride(d),
          .k_stride = v.stride(d + 1),
          .batch_stride = d == 0 ? 0 : v.stride(0)};
}
GemmOperand right(const View& v) {
  const int d = v.rank() - 2;
  return {.data = v.data,
          .outer_stride = v.stride(d + 1),
          .k_stride = v.stride(d),
          .batch_stride = d == 0 ? 0 : v.stride(0)};
}
GemmResult result(View& v) {
  const int d = v.rank() - 2;
  return {.data = v.data,
          .row_stride = v.stride(d),
          .column_stride = v.stride(d + 1),
          .batch_stride = d == 0 ? 0 : v.stride(0)};
}

void mm(const View& self, const View& mat2, View& out) {
  gemm(out.type(), {out.size(0), out.size(1), self.size(1)}, left(self), right(mat2), result(out));
}

void addmm(const View& self, const View& mat1, const View& mat2, Scalar beta, Scalar alpha, View& out) {
  GemmResult to = result(out);
  to.alpha = alpha;
  to.beta = beta;
  if (beta.real != 0) {
    const auto stride = [&](int from_the_right) {
      const int d = self.rank() - 1 - from_the_right;
      return d < 0 || self.size(d) == 1 ? 0 : self.stride(d);
    };
    to.addend = self.data;
    to.addend_row_stride = stride(1);
    to.addend_column_stride = stride(0);
  }
  gemm(out.type(), {out.size(0), out.size(1), mat1.size(1)}, left(mat1), right(mat2), to);
}

void bmm(const View& self, const View& mat2, View& out) {
  gemm(out.type(), {out.size(1), out.size(2), self.size(2), out.size(0)}, left(self), right(mat2),
       result(out));
}

// Rows of the input that lie at one distance from each other make a matrix, and such matrices a stack; what dimensions
// there are beyond follow one by one.
void linear(const View& input, const View& weight, const View* bias, View& out) {
  if (out.numel() == 0) return;
  const int last = input.rank() - 1;
  const View* const views[] = {&out, &input};
  const cpu::Space rows = cpu::space_without(last, views, 2);
  const auto size = [&](std::size_t d) { return d < static_cast<std::size_t>(rows.rank) ? rows.size[d] : 1; };
  const auto step = [&](std::size_t k, std::size_t d) {
    return d < static_cast<std::size_t>(rows.rank) ? rows.stride[k][d] : 0;
  };
  const std::int64_t bytes = out.dtype.bits / 8, count = size(0) * size(1);
  const GemmOperand w{.data = weight.data, .outer_stride = weight.stride(0), .k_stride = weight.stride(1)};
  for (std::int64_t i = 0; i < rows.count; i += count) {
    std::int64_t to = 0, from = 0, rest = i / count;
    for (std::size_t d = 2; d < static_cast<std::size_t>(rows.rank); ++d) {
      to += rest % rows.size[d] * rows.stride[0][d];
      from += rest % rows.size[d] * rows.stride[1][d];
      rest /= rows.size[d];
    }
    GemmResult y{.data = static_cast<char*>(out.data) + to * bytes,
                 .row_stride = step(0, 0),
                 .column_stride = out.stride(last),
                 .batch_stride = step(0, 1)};
    if (bias != nullptr) {
      y.addend = bias->data;
      y.addend_column_stride = bias->stride(0);
    }
    const GemmOperand x{.data = static_cast<const char*>(input.data) + from * bytes,
                        .outer_stride = step(1, 0),
                        .k_stride = input.stride(last),
                        .batch_stride = step(1, 1)};
    gemm(out.type(), {size(0), out.size(last), weight.size(1), size(1)}, x, w, y);
  }
}

constexpr assay_kernel mm_kernels[] = {ASSAY_CUDA(ops::mm, mm, ASSAY_CUDA_GEMM_CONTRACT),
                                       ASSAY_CUDA(ops::addmm, addmm, ASSAY_CUDA_GEMM_CONTRACT),
                                       ASSAY_CUDA(ops::bmm, bmm, ASSAY_CUDA_GEMM_CONTRACT),
                                       ASSAY_CUDA(ops::linear, linear, ASSAY_CUDA_GEMM_CONTRACT)};
const Enrolled mm_enrolled{mm_kernels};

}  // namespace
}  // namespace assay::cuda
