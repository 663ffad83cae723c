// Matrix products: out = alpha a b + beta c, for any strides. Compiled for each level; mm and whatever else
// multiplies matrices calls it.
#include "element.h"
#include "hwy/highway.h"
#include "vocabulary/kernel.h"

#if defined(ASSAY_CPU_GEMM_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_GEMM_H
#undef ASSAY_CPU_GEMM_H
#else
#define ASSAY_CPU_GEMM_H
#endif

#ifndef ASSAY_CPU_MATRIX
#define ASSAY_CPU_MATRIX
namespace assay::cpu {

struct Matrix {
  void* data;
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;  // elements; 0 is allowed where the matrix is only read

  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

// What becomes of a product p: alpha p + beta addend, of the output's size and dtype, with strides 0 where it
// repeats. Without data, alpha p.
struct Affine {
  Scalar alpha = kOne;
  Scalar beta{};
  Matrix addend{};

  static constexpr Scalar kOne{1, 1, true};

  bool is_identity() const { return alpha.real == 1 && addend.data == nullptr; }
};

// Every element of a product is summed in steps of this many terms (gemm.cpp).
inline constexpr std::int64_t kGemmBlock = 256;

}  // namespace assay::cpu
#endif

namespace assay::cpu::HWY_NAMESPACE {

// out[i, j] = alpha * (sum over k of a[i, k] b[k, j]) + beta * addend[i, j], in the compute type, rounded once
// to `type`, the dtype of all; integers wrap. Without terms the sum is 0. `out` overlaps neither input nor itself.
void gemm(Dtype type, const Matrix& a, const Matrix& b, const Matrix& out, const Affine& affine = {});

}  // namespace assay::cpu::HWY_NAMESPACE

#endif
