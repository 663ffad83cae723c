// Kernels of run_test_worker.cpp: `twice` as it should be, and as it is when a process remembers earlier calls or reads beside its rows.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "vocabulary/kernel.h"

namespace assay::test {

inline const assay_tensor& input(const assay_call* call) { return *call->arguments[0].as.tensor; }
inline float* in(const assay_call* call) { return static_cast<float*>(input(call).data); }
inline float* out(const assay_call* call) { return static_cast<float*>(call->outputs[0]->data); }

inline std::int64_t numel(const assay_tensor& t) {
  std::int64_t n = 1;
  for (int d = 0; d < t.ndim; ++d) n *= t.shape[d];
  return n;
}

inline std::int64_t place(const assay_tensor& t, std::int64_t index) {
  std::int64_t at = 0;
  for (int d = t.ndim; d-- > 0;) {
    at += index % t.shape[d] * t.strides[d];
    index /= t.shape[d];
  }
  return at;
}

inline int twice(const assay_call* call) {
  const std::int64_t n = numel(input(call));
  if (input(call).ndim == 1 && input(call).strides[0] == 1 && call->outputs[0]->strides[0] == 1) {
    for (std::int64_t i = 0; i < n; ++i) out(call)[i] = 2 * in(call)[i];
    return ASSAY_OK;
  }
  for (std::int64_t i = 0; i < n; ++i)
    out(call)[place(*call->outputs[0], i)] = 2 * in(call)[place(input(call), i)];
  return ASSAY_OK;
}

// The last result again where it is asked for the same memory.
inline int keeps_results(const assay_call* call) {
  static const float* from = nullptr;
  static std::vector<float> kept;
  const auto n = static_cast<std::size_t>(numel(input(call)));
  if (from == in(call) && kept.size() == n) {
    std::memcpy(out(call), kept.data(), n * sizeof(float));
    return ASSAY_OK;
  }
  twice(call);
  from = in(call);
  kept.assign(out(call), out(call) + n);
  return ASSAY_OK;
}
inline int wrong_from_1000(const assay_call* call) {
  static int calls = 0;
  twice(call);
  if (++calls >= 1000) out(call)[0] = -1;
  return ASSAY_OK;
}
inline int writes_once(const assay_call* call) {
  static const float* to = nullptr;
  if (to == out(call)) return ASSAY_OK;
  to = out(call);
  return twice(call);
}
// Something of a larger call gets into the first smaller one after it.
inline int remembers_shapes(const assay_call* call) {
  static std::int64_t before = 0;
  twice(call);
  if (before > numel(input(call))) out(call)[0] = -1;
  before = numel(input(call));
  return ASSAY_OK;
}
// The float after the first row, times zero.
inline int reads_beside_row(const assay_call* call) {
  twice(call);
  const assay_tensor& t = input(call);
  if (t.ndim == 2 && t.strides[0] > t.shape[1]) out(call)[0] += 0 * in(call)[t.shape[1]];
  return ASSAY_OK;
}

}  // namespace assay::test
