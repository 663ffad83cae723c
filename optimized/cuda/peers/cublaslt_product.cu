#if __has_include(<cublasLt.h>)

#include "cublaslt_product.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cublaslt_library.h"
#include "peer.h"

namespace assay::cuda::peers {
namespace {

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

struct Layouts {
  MatrixLayout a, b, c, d;
};

// What the library thinks fastest. `data` are those of a, b, c and d.
cublasLtMatmulHeuristicResult_t choose(const MatmulDesc& desc, const Layouts& as,
                                       const std::array<const void*, 4>& data) {
  cublasLtMatmulPreference_t preferred = nullptr;
  require(cublaslt().cublasLtMatmulPreferenceCreate(&preferred), "preferring algorithms");
  const MatmulPreference preference(preferred);
  constexpr std::uint64_t kWorkspace = 32 << 20;  // what NVIDIA recommends for an H100
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace, "allowing workspace");
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE),
      "choosing how parts of sums are added");
  constexpr cublasLtMatmulPreferenceAttributes_t kAlignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  for (std::size_t i = 0; i < data.size(); ++i)
    set(preference, kAlignments[i], alignment(data[i]), "saying how memory is aligned");

  cublasLtMatmulHeuristicResult_t chosen{};
  int found = 0;
  require(
      cublaslt().cublasLtMatmulAlgoGetHeuristic(cublaslt_handle(), desc.get(), as.a.get(), as.b.get(),
                                                as.c.get(), as.d.get(), preference.get(), 1, &chosen, &found),
      "asking cuBLASLt for an algorithm");
  if (found == 0) throw Refused("cuBLASLt has no algorithm for this product");
  require(chosen.state, "asking cuBLASLt for an algorithm");
  return chosen;
}

// The same product with a result by columns.
Product by_columns(Product p) {
  if (!p.d.by_rows()) {
    if (!p.d.by_columns())
      throw Refused("cuBLASLt cannot express the strides of the result: neither is 1, or rows overlap");
    if (p.bias != nullptr)
      throw Refused("cuBLASLt adds a bias to results by rows, and this one is by columns");
    return p;
  }
  std::swap(p.a, p.b);
  p.a = p.a.transposed();
  p.b = p.b.transposed();
  p.d = p.d.transposed();
  if (p.c) p.c = p.c->transposed();
  return p;
}

}  // namespace

Matrix Matrix::transposed() const {
  Matrix t = *this;
  std::swap(t.rows, t.columns);
  std::swap(t.row_stride, t.column_stride);
  return t;
}
// The stride of a dimension of size 1 means nothing.
std::int64_t Matrix::leading() const { return columns <= 1 ? rows : column_stride; }
bool Matrix::by_columns() const { return (rows <= 1 || row_stride == 1) && leading() >= rows; }

Dtype supported(Dtype type) {
  static_cast<void>(data_type(type));
  return type;
}

void multiply(const Product& given) {
  if (given.d.rows == 0 || given.d.columns == 0 || given.batches == 0) return;
  if (given.a.columns == 0) throw Refused("cuBLASLt is not asked for sums of no terms");
  const Product p = by_columns(given);
  const bool is_double = p.type == Dtype::f64;

  cublasLtMatmulDesc_t created = nullptr;
  require(cublaslt().cublasLtMatmulDescCreate(&created, is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                              is_double ? CUDA_R_64F : CUDA_R_32F),
          "describing a product");
  const MatmulDesc desc(created);
  Layouts layouts;
  layouts.a = operand(p.a, p, desc, CUBLASLT_MATMUL_DESC_TRANSA);
  layouts.b = operand(p.b, p, desc, CUBLASLT_MATMUL_DESC_TRANSB);
  if (p.c && !p.c->by_columns())
    throw Refused(std::string("cuBLASLt does not transpose what it adds, and ") + p.c->name +
                  " has not the order of the result");
  const Matrix& added = p.c ? *p.c : p.d;  // which is not read where beta is 0
  layouts.c = layout_of(added, p.type, p.batches);
  layouts.d = layout_of(p.d, p.type, p.batches);
  if (p.bias != nullptr) {
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, "adding a bias");
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias->data), "adding a bias");
  }

  const cublasLtMatmulHeuristicResult_t chosen =
      choose(desc, layouts, {p.a.data, p.b.data, added.data, p.d.data});
  if (asks_only()) return;

  const float alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
  const auto factor = [&](const double& f64, const float& f32) -> const void* {
    return is_double ? static_cast<const void*>(&f64) : &f32;
  };
  const Memory workspace(chosen.workspaceSize, "cuBLASLt");
  require(cublaslt().cublasLtMatmul(cublaslt_handle(), desc.get(), factor(p.alpha, alpha), p.a.data,
                                    layouts.a.get(), p.b.data, layouts.b.get(), factor(p.beta, beta),
                                    added.data, layouts.c.get(), p.d.data, layouts.d.get(), &chosen.algo,
                                    workspace.data(), chosen.workspaceSize, nullptr),
          "multiplying");
  say_information(described(chosen.algo));
}

}  // namespace assay::cuda::peers

#endif
