// A product of matrices as cublasLtMatmul computes it.
//
// Its matrices are column-major and have one leading dimension. A result by rows is computed as its
// transpose, of the operands' transposes in the other order; an operand of the other order is transposed by
// the operation. Strides that this cannot express are refused, nothing is copied.
//
// f64 is computed in f64, all others in f32 without TF32, and parts of a sum that is split are kept in that
// format, too: the library would also take algorithms that keep them in f16.
#pragma once

#include <cstdint>
#include <optional>

#include "vocabulary/dtype.h"
#include "vocabulary/view.h"

namespace assay::cuda::peers {

// A matrix, or a stack of them at one distance. Strides count elements.
struct Matrix {
  void* data;
  std::int64_t rows, columns, row_stride, column_stride, batch_stride;
  const char* name;

  Matrix transposed() const;
  std::int64_t leading() const;  // of a matrix by columns
  bool by_columns() const;
  bool by_rows() const { return transposed().by_columns(); }
};

// d = alpha a b + beta c + bias
struct Product {
  Dtype type;
  Matrix a, b, d;
  std::optional<Matrix> c = {};
  const View* bias = nullptr;  // one for each column of d
  double alpha = 1, beta = 0;
  std::int64_t batches = 1;
};

// The same dtype. Throws Refused for one that cuBLASLt is not asked for. Called before all else, so that what
// becomes of a dtype depends on no shape.
Dtype supported(Dtype type);

// Throws Refused for what the library cannot express or has no algorithm for.
void multiply(const Product& product);

}  // namespace assay::cuda::peers
