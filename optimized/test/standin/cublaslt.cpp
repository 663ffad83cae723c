// Stands in for libcublasLt in tests: the functions that the peer calls, on memory of the program, as plain
// as can be.
//
// Every attribute is kept and obeyed; one that is not known here is not supported. So is every value that
// would be another computation: a wrong order, leading dimension, transposition or stride gives wrong
// results, or an error.
#include <cublasLt.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "enqueue.h"
#include "number.h"

namespace {

using standin::Format;

// Attributes by number.
class Attributes {
 public:
  // `sizes`: of those that are known.
  cublasStatus_t set(const std::map<int, std::size_t>& sizes, int attribute, const void* value,
                     std::size_t bytes) {
    const auto known = sizes.find(attribute);
    if (known == sizes.end()) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (value == nullptr || known->second != bytes) return CUBLAS_STATUS_INVALID_VALUE;
    values_[attribute].assign(static_cast<const char*>(value), static_cast<const char*>(value) + bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  template <class T>
  T get(int attribute, T otherwise) const {
    const auto found = values_.find(attribute);
    if (found != values_.end()) std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
  }

 private:
  std::map<int, std::vector<char>> values_;
};

struct Layout {
  Attributes attributes;
  Format format;
  std::int64_t rows, columns, leading;
  std::int32_t batches() const { return attributes.get<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1); }
  std::int64_t batch_stride() const {
    return attributes.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
  }
  std::int64_t at(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    return batch * batch_stride() + i + j * leading;
  }
};

struct Product {
  Attributes attributes;
  bool in_f64;
  bool transposes(cublasLtMatmulDescAttributes_t which) const {
    return attributes.get<std::int32_t>(which, CUBLAS_OP_N) == CUBLAS_OP_T;
  }
};

struct Preference {
  Attributes attributes;
};

// What stands in cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint32_t id, alignment[4];
  std::uint64_t workspace;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

Layout* of(cublasLtMatrixLayout_t layout) { return reinterpret_cast<Layout*>(layout); }
Product* of(cublasLtMatmulDesc_t product) { return reinterpret_cast<Product*>(product); }
Preference* of(cublasLtMatmulPreference_t preference) { return reinterpret_cast<Preference*>(preference); }

bool format_of(cudaDataType type, Format& format) {
  switch (type) {
    case CUDA_R_64F:
      format = Format::f64;
      return true;
    case CUDA_R_32F:
      format = Format::f32;
      return true;
    case CUDA_R_16F:
      format = Format::f16;
      return true;
    case CUDA_R_16BF:
      format = Format::bf16;
      return true;
    default:
      return false;
  }
}

cublasStatus_t fits(const Product& p, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  const std::int64_t m = p.transposes(CUBLASLT_MATMUL_DESC_TRANSA) ? a.columns : a.rows,
                     k = p.transposes(CUBLASLT_MATMUL_DESC_TRANSA) ? a.rows : a.columns,
                     k_of_b = p.transposes(CUBLASLT_MATMUL_DESC_TRANSB) ? b.columns : b.rows,
                     n = p.transposes(CUBLASLT_MATMUL_DESC_TRANSB) ? b.rows : b.columns;
  if (k != k_of_b || d.rows != m || d.columns != n || c.rows != m || c.columns != n)
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const Layout* each : {&a, &b, &c, &d}) {
    if (each->rows < 1 || each->columns < 1 || each->leading < each->rows || each->batches() != d.batches())
      return CUBLAS_STATUS_INVALID_VALUE;
    if (each->format != d.format || p.in_f64 != (each->format == Format::f64))
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const auto epilogue =
      p.attributes.get<std::uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT && epilogue != CUBLASLT_EPILOGUE_BIAS)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

// op(A)[i, k], or B's.
double element(const void* data, const Layout& layout, bool transposed, std::int64_t batch, std::int64_t i,
               std::int64_t j) {
  return standin::load(data, layout.format, transposed ? layout.at(batch, j, i) : layout.at(batch, i, j));
}

template <class T>
void multiply(const Product& p, T alpha, const void* a, const Layout& as_a, const void* b, const Layout& as_b,
              T beta, const void* c, const Layout& as_c, void* d, const Layout& as_d) {
  const bool transpose_a = p.transposes(CUBLASLT_MATMUL_DESC_TRANSA),
             transpose_b = p.transposes(CUBLASLT_MATMUL_DESC_TRANSB);
  const bool adds_bias = p.attributes.get<std::uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE,
                                                         CUBLASLT_EPILOGUE_DEFAULT) == CUBLASLT_EPILOGUE_BIAS;
  const auto* const bias = p.attributes.get<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  const std::int64_t depth = transpose_a ? as_a.rows : as_a.columns;
  for (std::int64_t batch = 0; batch < as_d.batches(); ++batch)
    for (std::int64_t i = 0; i < as_d.rows; ++i)
      for (std::int64_t j = 0; j < as_d.columns; ++j) {
        T sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += static_cast<T>(element(a, as_a, transpose_a, batch, i, k)) *
                 static_cast<T>(element(b, as_b, transpose_b, batch, k, j));
        sum *= alpha;
        if (beta != 0) sum += beta * static_cast<T>(standin::load(c, as_c.format, as_c.at(batch, i, j)));
        if (adds_bias) sum += static_cast<T>(standin::load(bias, as_d.format, i));
        standin::store(d, as_d.format, as_d.at(batch, i, j), sum);
      }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) {
  static thread_local std::string text;
  text = "CUBLAS_STATUS " + std::to_string(static_cast<int>(status));
  return text.c_str();
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  Format format{};
  if (!format_of(type, format)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{{}, format, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t bytes) {
  return of(layout)->attributes.set(
      {{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4}, {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8}}, attribute,
      value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete of(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  const bool f64 = compute == CUBLAS_COMPUTE_64F && scale == CUDA_R_64F;
  if (!f64 && (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *product = reinterpret_cast<cublasLtMatmulDesc_t>(new Product{{}, f64});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  return of(product)->attributes.set({{CUBLASLT_MATMUL_DESC_TRANSA, 4},
                                      {CUBLASLT_MATMUL_DESC_TRANSB, 4},
                                      {CUBLASLT_MATMUL_DESC_EPILOGUE, 4},
                                      {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8}},
                                     attribute, value, bytes);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete of(product);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return of(preference)
      ->attributes.set({{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8},
                        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4},
                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4},
                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4},
                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4},
                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4}},
                       attribute, value, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete of(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  *count = 0;
  if (requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const cublasStatus_t status = fits(*of(product), *of(a), *of(b), *of(c), *of(d));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const Attributes& wishes = of(preference)->attributes;
  constexpr std::uint64_t kWanted = 1000;
  Algorithm algorithm{.id = 21, .alignment = {}, .workspace = kWanted};
  if (wishes.get<std::uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0) < kWanted)
    algorithm.workspace = 0;
  for (int i = 0; i < 4; ++i)
    algorithm.alignment[i] = wishes.get<std::uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i, 256);
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  results[0].workspaceSize = algorithm.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, size_t bytes, size_t* written) {
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  if (bytes != 4) return CUBLAS_STATUS_INVALID_VALUE;
  const std::uint32_t number = attribute == CUBLASLT_ALGO_CONFIG_ID ? algorithm.id : 1;
  std::memcpy(value, &number, 4);
  *written = 4;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t as_a, const void* b,
                              cublasLtMatrixLayout_t as_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t as_c, void* d, cublasLtMatrixLayout_t as_d,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                              cudaStream_t) {
  const Product& p = *of(product);
  const Layout &la = *of(as_a), &lb = *of(as_b), &lc = *of(as_c), &ld = *of(as_d);
  const cublasStatus_t status = fits(p, la, lb, lc, ld);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % algorithm.alignment[i] != 0)
      return CUBLAS_STATUS_INVALID_VALUE;
  if (workspace_bytes < algorithm.workspace) return CUBLAS_STATUS_INVALID_VALUE;
  const double by = standin::factor(alpha, ld.format), by_c = standin::factor(beta, ld.format);
  standin::enqueue([=, p = p, la = la, lb = lb, lc = lc, ld = ld] {
    std::memset(workspace, 0x5a, algorithm.workspace);
    standin::in_compute_format(ld.format, [&](auto zero) {
      using T = decltype(zero);
      multiply(p, static_cast<T>(by), a, la, b, lb, static_cast<T>(by_c), c, lc, d, ld);
    });
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
