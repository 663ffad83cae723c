// A dense row times a matrix whose columns are dense: as much work as it takes to read the matrix once. Compiled for each
// level.
//
// The idea: the sums of a vector of columns need a number of each at a time, so blocks of the matrix change rows for
// columns in registers (transpose.h), and nothing is packed. Vectors are taken through whole cache lines one after the
// other, because columns that are a power of two apart share few places in the first-level cache. Terms are added in the
// order of gemm_tile.h, blocks of kGemmBlock too, so that bits do not depend on how many rows there are.
#include "gemm.h"
#include "gemm_tile.h"
#include "transpose.h"

#if defined(ASSAY_CPU_GEMM_ROW_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_GEMM_ROW_H
#undef ASSAY_CPU_GEMM_ROW_H
#else
#define ASSAY_CPU_GEMM_ROW_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// out[c] = sum over k < depth of a[k] b[c * stride + k], for `vectors` vectors of columns.
template <int vectors, class C>
HWY_NOINLINE void row_of(std::int64_t depth, const C* a, const C* b, std::int64_t stride, C* out) {
  const ColumnTag<C> d;
  using V = hn::Vec<ColumnTag<C>>;
  constexpr std::int64_t lanes = kColumnRows<C>, terms = kColumns<C>, line = 64 / sizeof(C);
  V total[vectors];
  for (std::int64_t k0 = 0; k0 < depth; k0 += kGemmBlock) {
    const std::int64_t end = HWY_MIN(depth, k0 + kGemmBlock);
    V sum[vectors];
    for (V& s : sum) s = hn::Zero(d);
    std::int64_t k = k0;
    const auto add = [&](int v, std::int64_t at) HWY_ATTR {
      V column[terms];
      load_columns(column, b + v * lanes * stride + at, stride);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < terms; ++i)
        sum[v] = multiply_add(hn::Set(d, a[at + i]), column[i], sum[v]);
    };
    for (; k + line <= end; k += line)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        for (std::int64_t i = 0; i < line; i += terms) add(v, k + i);
      }
    for (; k + terms <= end; k += terms)
      for (int v = 0; v < vectors; ++v) add(v, k);
    for (; k < end; ++k)
      for (int v = 0; v < vectors; ++v) {
        HWY_ALIGN C column[lanes];
        for (std::int64_t r = 0; r < lanes; ++r) column[r] = b[(v * lanes + r) * stride + k];
        sum[v] = multiply_add(hn::Set(d, a[k]), hn::Load(d, column), sum[v]);
      }
    for (int v = 0; v < vectors; ++v) total[v] = k0 == 0 ? sum[v] : hn::Add(total[v], sum[v]);
  }
  for (int v = 0; v < vectors; ++v) hn::StoreU(total[v], d, out + v * lanes);
}

// The same for any number of columns that is at least kColumnRows<C>, and depth > 0.
template <class C>
void row_times_columns(std::int64_t depth, const C* a, const C* b, std::int64_t stride, C* out,
                       std::int64_t columns) {
  constexpr std::int64_t lanes = kColumnRows<C>;
  std::int64_t c = 0;
  for (; c + 2 * lanes <= columns; c += 2 * lanes) row_of<2>(depth, a, b + c * stride, stride, out + c);
  for (; c < columns; c += lanes) {
    c = HWY_MIN(c, columns - lanes);  // the last ones once more, where some are left
    row_of<1>(depth, a, b + c * stride, stride, out + c);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
