// A strided tensor in somebody else's memory: DLPack's DLTensor with names for what kernels ask of it.
#pragma once

#include <cstdint>
#include <span>

#include "dtype.h"

namespace assay {

// The same layout as assay_tensor and DLTensor, so a pointer to one is a pointer to the other. Every function is
// trivial: this header is included by code compiled for one ISA only.
struct View : assay_tensor {
  int rank() const { return ndim; }
  std::int64_t size(int dimension) const { return shape[dimension]; }
  std::int64_t stride(int dimension) const { return strides[dimension]; }
  std::span<const std::int64_t> sizes() const { return {shape, static_cast<std::size_t>(ndim)}; }
  std::span<const std::int64_t> all_strides() const { return {strides, static_cast<std::size_t>(ndim)}; }
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= shape[d];
    return n;
  }
  // Elements lie in row-major order without gaps.
  bool contiguous() const {
    std::int64_t expected = 1;
    for (int d = ndim - 1; d >= 0; --d) {
      if (shape[d] != 1 && strides[d] != expected) return numel() == 0;
      expected *= shape[d];
    }
    return true;
  }
  // Precondition of every kernel: the harness and the registry admit only the dtypes of the schema.
  Dtype type() const { return *dtype_of(dtype); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};
static_assert(sizeof(View) == sizeof(assay_tensor));

// torch.result_type: tensors with dimensions decide, zero-dimensional ones only among themselves or when they are of a higher kind
// (floating point over integer).
inline Dtype promoted(const View* const* tensors, std::size_t count) {
  bool known[2] = {false, false};
  Dtype by_rank[2] = {Dtype::boolean, Dtype::boolean};
  for (std::size_t i = 0; i < count; ++i) {
    const int k = tensors[i]->rank() > 0 ? 1 : 0;
    by_rank[k] = known[k] ? promote(by_rank[k], tensors[i]->type()) : tensors[i]->type();
    known[k] = true;
  }
  if (!known[1]) return by_rank[0];
  return known[0] && is_float(by_rank[0]) && !is_float(by_rank[1]) ? by_rank[0] : by_rank[1];
}

}  // namespace assay
