// mm, addmm, bmm and linear by cublasLtMatmul.
//
// Its matrices are column-major and have one leading dimension. A result by rows is computed as its
// transpose, of the operands' transposes in the other order; an operand of the other order is transposed by
// the operation. Strides that this cannot express are refused, nothing is copied.
//
// f64 is computed in f64, all others in f32 without TF32, and parts of a sum that is split are kept in that
// format, too: the library would also take algorithms that keep them in f16.
#if __has_include(<cublasLt.h>)

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cpu/without.h"
#include "cublaslt_library.h"
#include "ops/mm.h"
#include "peer.h"

namespace assay::cuda::peers {
namespace {

// A matrix, or a stack of them at one distance. Strides count elements.
struct Matrix {
  void* data;
  std::int64_t rows, columns, row_stride, column_stride, batch_stride;
  const char* name;

  Matrix transposed() const {
    Matrix t = *this;
    std::swap(t.rows, t.columns);
    std::swap(t.row_stride, t.column_stride);
    return t;
  }
  // The stride of a dimension of size 1 means nothing.
  std::int64_t leading() const { return columns <= 1 ? rows : column_stride; }
  bool by_columns() const { return (rows <= 1 || row_stride == 1) && leading() >= rows; }
  bool by_rows() const { return transposed().by_columns(); }
};

struct Product {
  Dtype type;
  Matrix a, b, d;
  std::optional<Matrix> c = {};
  const View* bias = nullptr;  // one for each column of d
  double alpha = 1, beta = 0;
  std::int64_t batches = 1;
};

cudaDataType_t data_type(Dtype type) {
  switch (type) {
    case Dtype::f64:
      return CUDA_R_64F;
    case Dtype::f32:
      return CUDA_R_32F;
    case Dtype::f16:
      return CUDA_R_16F;
    case Dtype::bf16:
      return CUDA_R_16BF;
    default:
      throw Refused("cuBLASLt is asked for products of f64, f32, f16 and bf16");
  }
}

// The same dtype. Asked before all else, so that what becomes of a dtype depends on no shape.
Dtype supported(Dtype type) {
  static_cast<void>(data_type(type));
  return type;
}

template <class T>
void set(const MatmulDesc& desc, cublasLtMatmulDescAttributes_t attribute, T value, const char* doing) {
  require(cublaslt().cublasLtMatmulDescSetAttribute(desc.get(), attribute, &value, sizeof value), doing);
}
template <class T>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t attribute, T value, const char* doing) {
  require(cublaslt().cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value), doing);
}
template <class T>
void set(const MatmulPreference& preference, cublasLtMatmulPreferenceAttributes_t attribute, T value,
         const char* doing) {
  require(cublaslt().cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
          doing);
}

// Of a matrix by columns.
MatrixLayout layout_of(const Matrix& m, Dtype type, std::int64_t batches) {
  cublasLtMatrixLayout_t layout = nullptr;
  require(cublaslt().cublasLtMatrixLayoutCreate(&layout, data_type(type), static_cast<std::uint64_t>(m.rows),
                                                static_cast<std::uint64_t>(m.columns), m.leading()),
          "describing a matrix");
  MatrixLayout owned(layout);
  if (batches > 1) {
    set(owned, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, to_int(batches, "the number of matrices"),
        "describing a stack of matrices");
    set(owned, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.batch_stride, "describing a stack of matrices");
  }
  return owned;
}

// Of an operand, which the operation transposes if it must.
MatrixLayout operand(const Matrix& m, const Product& p, const MatmulDesc& desc,
                     cublasLtMatmulDescAttributes_t which) {
  if (!m.by_columns() && !m.by_rows())
    throw Refused(std::string("cuBLASLt cannot express the strides of ") + m.name +
                  ": neither is 1, or rows overlap");
  set(desc, which, m.by_columns() ? CUBLAS_OP_N : CUBLAS_OP_T, "transposing an operand");
  return layout_of(m.by_columns() ? m : m.transposed(), p.type, p.batches);
}

// To which multiple of bytes a tensor is aligned, as far as the library asks.
std::uint32_t alignment(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return static_cast<std::uint32_t>(address == 0 ? 256 : std::min<std::uintptr_t>(256, address & -address));
}

std::string described(const cublasLtMatmulAlgo_t& algorithm) {
  const auto number = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    std::int32_t value = 0;
    std::size_t written = 0;
    const auto status = cublaslt().cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value,
                                                                        sizeof value, &written);
    return status == CUBLAS_STATUS_SUCCESS ? std::to_string(value) : std::string("?");
  };
  return "cuBLASLt " + std::to_string(cublaslt().cublasLtGetVersion()) + ", algorithm " +
         number(CUBLASLT_ALGO_CONFIG_ID) + ", tile " + number(CUBLASLT_ALGO_CONFIG_TILE_ID) + ", split in " +
         number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
}

// The same product with a result by columns.
Product by_columns(Product p) {
  if (!p.d.by_rows()) {
    if (!p.d.by_columns())
      throw Refused("cuBLASLt cannot express the strides of the result: neither is 1, or rows overlap");
    if (p.bias != nullptr)
      throw Refused("cuBLASLt adds a bias along columns, and those of the result are its neighbours");
    return p;
  }
  std::swap(p.a, p.b);
  p.a = p.a.transposed();
  p.b = p.b.transposed();
  p.d = p.d.transposed();
  if (p.c) p.c = p.c->transposed();
  return p;
}

void multiply(const Product& given) {
  static_cast<void>(
      data_type(given.type));  // before all else, so that what becomes of a dtype depends on no shape
  if (given.d.rows == 0 || given.d.columns == 0 || given.batches == 0) return;
  if (given.a.columns == 0) throw Refused("cuBLASLt is not asked for sums of no terms");
  const Product p = by_columns(given);
  const bool is_double = p.type == Dtype::f64;

  cublasLtMatmulDesc_t created = nullptr;
  require(cublaslt().cublasLtMatmulDescCreate(&created, is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                              is_double ? CUDA_R_64F : CUDA_R_32F),
          "describing a product");
  const MatmulDesc desc(created);
  const MatrixLayout a = operand(p.a, p, desc, CUBLASLT_MATMUL_DESC_TRANSA);
  const MatrixLayout b = operand(p.b, p, desc, CUBLASLT_MATMUL_DESC_TRANSB);
  if (p.c && !p.c->by_columns())
    throw Refused(std::string("cuBLASLt does not transpose what it adds, and ") + p.c->name +
                  " has not the order of the result");
  const Matrix& added = p.c ? *p.c : p.d;  // which is not read where beta is 0
  const MatrixLayout c = layout_of(added, p.type, p.batches);
  const MatrixLayout d = layout_of(p.d, p.type, p.batches);
  if (p.bias != nullptr) {
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, "adding a bias");
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias->data), "adding a bias");
  }

  cublasLtMatmulPreference_t preferred = nullptr;
  require(cublaslt().cublasLtMatmulPreferenceCreate(&preferred), "preferring algorithms");
  const MatmulPreference preference(preferred);
  constexpr std::uint64_t kWorkspace = 32 << 20;  // what NVIDIA recommends for an H100
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace, "allowing workspace");
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE),
      "choosing how parts of sums are added");
  const std::pair<cublasLtMatmulPreferenceAttributes_t, const void*> alignments[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.a.data},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.b.data},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, added.data},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.d.data}};
  for (const auto& [which, data] : alignments)
    set(preference, which, alignment(data), "saying how memory is aligned");

  cublasLtMatmulHeuristicResult_t chosen{};
  int found = 0;
  require(cublaslt().cublasLtMatmulAlgoGetHeuristic(cublaslt_handle(), desc.get(), a.get(), b.get(), c.get(),
                                                    d.get(), preference.get(), 1, &chosen, &found),
          "asking cuBLASLt for an algorithm");
  if (found == 0) throw Refused("cuBLASLt has no algorithm for this product");
  require(chosen.state, "asking cuBLASLt for an algorithm");
  if (asks_only()) return;

  const float alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
  const auto factor = [&](const double& f64, const float& f32) -> const void* {
    return is_double ? static_cast<const void*>(&f64) : &f32;
  };
  const Memory workspace(chosen.workspaceSize, "cuBLASLt");
  require(cublaslt().cublasLtMatmul(cublaslt_handle(), desc.get(), factor(p.alpha, alpha), p.a.data, a.get(),
                                    p.b.data, b.get(), factor(p.beta, beta), added.data, c.get(), p.d.data,
                                    d.get(), &chosen.algo, workspace.data(), chosen.workspaceSize, nullptr),
          "multiplying");
  say_information(described(chosen.algo));
}

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
