// mm, addmm, bmm and linear by cuBLASLt.
#if __has_include(<cublasLt.h>)

#include <string>

#include "cublaslt_library.h"
#include "cublaslt_product.h"
#include "geometry/without.h"
#include "ops/mm.h"
#include "peer.h"

namespace assay::cuda::peers {
namespace {

// The last two dimensions of a view.
Matrix matrix(const View& v, const char* name) {
  const int d = v.rank() - 2;
  return {v.data, v.size(d), v.size(d + 1), v.stride(d), v.stride(d + 1), d == 0 ? 0 : v.stride(0), name};
}

void mm(const View& self, const View& mat2, View& out) {
  multiply({.type = supported(out.type()),
            .a = matrix(self, "self"),
            .b = matrix(mat2, "mat2"),
            .d = matrix(out, "the result")});
}

void bmm(const View& self, const View& mat2, View& out) {
  multiply({.type = supported(out.type()),
            .a = matrix(self, "self"),
            .b = matrix(mat2, "mat2"),
            .d = matrix(out, "the result"),
            .batches = out.size(0)});
}

// One for each column, which the library wants to be neighbours.
void add_bias(Product& p, const View& bias) {
  if (bias.numel() > 1 && bias.stride(bias.rank() - 1) != 1)
    throw Refused("cuBLASLt reads a bias whose elements are neighbours, and this one's stride is " +
                  std::to_string(bias.stride(bias.rank() - 1)));
  p.bias = &bias;
}

void addmm(const View& self, const View& mat1, const View& mat2, Scalar beta, Scalar alpha, View& out) {
  Product p{.type = supported(out.type()),
            .a = matrix(mat1, "mat1"),
            .b = matrix(mat2, "mat2"),
            .d = matrix(out, "the result"),
            .alpha = alpha.real,
            .beta = beta.real};
  if (beta.real != 0 && out.numel() != 0) {
    const auto stride = [&](int from_the_right) -> std::int64_t {
      const int d = self.rank() - 1 - from_the_right;
      return d < 0 || self.size(d) == 1 ? 0 : self.stride(d);
    };
    const Matrix added{self.data, p.d.rows, p.d.columns, stride(1), stride(0), 0, "self"};
    const bool same_rows = added.rows > 1 && added.row_stride == 0;
    const bool same_columns = added.columns > 1 && added.column_stride == 0;
    if (same_columns) throw Refused("cuBLASLt does not repeat a column of self, nor a number");
    if (same_rows && beta.real != 1)
      throw Refused("cuBLASLt repeats a row of self as a bias, which has no factor, and beta is not 1");
    if (same_rows) {
      add_bias(p, self);
      p.beta = 0;
    } else {
      p.c = added;
    }
  }
  multiply(p);
}

// Rows of the input that lie at one distance from each other make a matrix, and such matrices a stack.
void linear(const View& input, const View& weight, const View* bias, View& out) {
  const int last = input.rank() - 1;
  const View* const views[] = {&out, &input};
  const cpu::Space rows = cpu::space_without(last, views, 2);
  if (rows.rank > 2) throw Refused("cuBLASLt takes rows of two strides, and those of input have more");
  const auto size = [&](std::size_t d) { return d < static_cast<std::size_t>(rows.rank) ? rows.size[d] : 1; };
  const auto step = [&](std::size_t k, std::size_t d) {
    return d < static_cast<std::size_t>(rows.rank) ? rows.stride[k][d] : 0;
  };
  Product p{
      .type = supported(out.type()),
      .a = {input.data, size(0), input.size(last), step(1, 0), input.stride(last), step(1, 1), "input"},
      .b = {weight.data, weight.size(1), weight.size(0), weight.stride(1), weight.stride(0), 0, "weight"},
      .d = {out.data, size(0), out.size(last), step(0, 0), out.stride(last), step(0, 1), "the result"},
      .batches = size(1)};
  if (bias != nullptr) add_bias(p, *bias);
  multiply(p);
}

constexpr const char* kContract =
    "f16,bf16: addition=cut_off(1) -- Fasi, Higham, Mikaitis and Pranesh 2021: sums of tensor cores, as measured\n"
    "alignment=256 -- cublasLt.h, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES and others: algorithms are "
    "chosen by it, and 256 is the default\n"
    "row_invariant=no layout_invariant=no -- cublasLt.h, cublasLtMatmulAlgoGetHeuristic: \"algorithm "
    "appropriate for given use case\", which sizes and strides describe";
constexpr const char* kSource = "optimized/cuda/peers/cublaslt.cu";

constexpr assay_kernel kernels[] = {peer<ops::mm, mm>("cublaslt", no_cublaslt, kContract, kSource),
                                    peer<ops::addmm, addmm>("cublaslt", no_cublaslt, kContract, kSource),
                                    peer<ops::bmm, bmm>("cublaslt", no_cublaslt, kContract, kSource),
                                    peer<ops::linear, linear>("cublaslt", no_cublaslt, kContract, kSource)};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::cuda::peers

#endif
