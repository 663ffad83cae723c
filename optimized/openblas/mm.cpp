// mm by OpenBLAS's cblas_sgemm and cblas_dgemm.
//
// A matrix of BLAS has one stride of 1 and one leading dimension; anything else is refused, not copied. The
// library is loaded by the first call and not at start, because loading it starts a thread for each core, and
// processes of Assay that fork must have one; hence also OPENBLAS_NUM_THREADS=1.
#include <cblas.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "ops/mm.h"
#include "vocabulary/kernel.h"

namespace assay {
namespace {

struct Library {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&openblas_get_corename) core = nullptr;
};

const Library& library() {
  static const Library loaded = [] {
    void* handle = dlopen(ASSAY_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    Library l;
    l.sgemm = reinterpret_cast<decltype(l.sgemm)>(dlsym(handle, "cblas_sgemm"));
    l.dgemm = reinterpret_cast<decltype(l.dgemm)>(dlsym(handle, "cblas_dgemm"));
    l.core = reinterpret_cast<decltype(l.core)>(dlsym(handle, "openblas_get_corename"));
    if (l.sgemm == nullptr || l.dgemm == nullptr || l.core == nullptr)
      throw std::runtime_error(ASSAY_OPENBLAS " lacks cblas_sgemm, cblas_dgemm or openblas_get_corename");
    return l;
  }();
  return loaded;
}

const char* missing() {
  return access(ASSAY_OPENBLAS, R_OK) == 0 ? nullptr
                                           : "there is no " ASSAY_OPENBLAS ": install libopenblas0-pthread";
}

// One matrix as BLAS sees it.
struct Matrix {
  bool by_rows = true;     // a row's elements are neighbours
  bool by_columns = true;  // a column's are; both can hold at once
  std::int64_t row_stride = 1, column_stride = 1;

  // The leading dimension in an order that holds.
  blasint leading(bool rows) const { return static_cast<blasint>(rows ? row_stride : column_stride); }
};

Matrix describe(const View& v, const char* name) {
  const std::int64_t rows = v.size(0), columns = v.size(1);
  if (v.numel() == 0)
    return {true, true, std::max<std::int64_t>(1, columns), std::max<std::int64_t>(1, rows)};
  Matrix m;
  // The stride of a dimension of size 1 means nothing, so it becomes what BLAS wants to see.
  m.column_stride = columns <= 1 ? std::max<std::int64_t>(1, rows) : v.stride(1);
  m.row_stride = rows <= 1 ? std::max<std::int64_t>(1, columns) : v.stride(0);
  m.by_rows = (columns <= 1 || v.stride(1) == 1) && m.row_stride >= std::max<std::int64_t>(1, columns);
  m.by_columns = (rows <= 1 || v.stride(0) == 1) && m.column_stride >= std::max<std::int64_t>(1, rows);
  constexpr std::int64_t most = std::numeric_limits<blasint>::max();
  if (rows > most || columns > most || m.row_stride > most || m.column_stride > most)
    throw Refused("sizes and strides of BLAS are 32-bit integers");
  if (!m.by_rows && !m.by_columns)
    throw Refused(std::string("BLAS cannot express the strides of ") + name +
                  ": neither is 1, or rows overlap");
  return m;
}

struct Plan {
  CBLAS_ORDER order;
  CBLAS_TRANSPOSE transpose_a, transpose_b;
  blasint m, n, k, lda, ldb, ldc;
};

Plan plan(const View& self, const View& mat2, const View& out) {
  if (out.type() != Dtype::f32 && out.type() != Dtype::f64)
    throw Refused("OpenBLAS multiplies matrices of f32 and f64");
  const Matrix a = describe(self, "self"), b = describe(mat2, "mat2"), c = describe(out, "the result");
  // Under the order of the result, an operand of the other order is a transposed one.
  const bool rows = c.by_rows;
  const bool a_as_is = rows ? a.by_rows : a.by_columns;
  const bool b_as_is = rows ? b.by_rows : b.by_columns;
  return {.order = rows ? CblasRowMajor : CblasColMajor,
          .transpose_a = a_as_is ? CblasNoTrans : CblasTrans,
          .transpose_b = b_as_is ? CblasNoTrans : CblasTrans,
          .m = static_cast<blasint>(self.size(0)),
          .n = static_cast<blasint>(mat2.size(1)),
          .k = static_cast<blasint>(self.size(1)),
          .lda = a.leading(rows == a_as_is),
          .ldb = b.leading(rows == b_as_is),
          .ldc = c.leading(rows)};
}

void mm(const View& self, const View& mat2, View& out) {
  const Plan p = plan(self, mat2, out);
  const Library& blas = library();
  say_information(blas.core());
  if (out.type() == Dtype::f32)
    blas.sgemm(p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, 1, self.as<float>(), p.lda,
               mat2.as<float>(), p.ldb, 0, out.as<float>(), p.ldc);
  else
    blas.dgemm(p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, 1, self.as<double>(), p.lda,
               mat2.as<double>(), p.ldb, 0, out.as<double>(), p.ldc);
}

void only_plan(const View& self, const View& mat2, View& out) { plan(self, mat2, out); }

int refuses(const assay_call* call) {
  constexpr assay_kernel planned = kernel<ops::mm, only_plan>("");
  return planned.run(call);
}

constexpr assay_kernel kernels[] = {kernel<ops::mm, mm>(
    "openblas",
    {.contract =
         "row_invariant=no layout_invariant=no -- github.com/OpenMathLib/OpenBLAS/pull/3335: small products "
         "take kernels of their own, chosen by M, N, K and which operands are transposed",
     .refuses = refuses,
     .unavailable = missing,
     .source = "optimized/openblas/mm.cpp",
     .environment = "OPENBLAS_NUM_THREADS=1",
     .flags = ASSAY_PEER})};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay
