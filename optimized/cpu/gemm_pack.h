// Panels: what the inner loop of a matrix product reads, in the order in which it reads it. Compiled for each
// level.
//
// A panel of width R holds R rows of a (or columns of b) interleaved: element (r, k) at [k * R + r], zeros
// where the matrix has fewer. The inner loop then walks through both operands without gaps, whatever their
// strides were.
#include "hwy/highway.h"

#if defined(ASSAY_CPU_GEMM_PACK_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_GEMM_PACK_H
#undef ASSAY_CPU_GEMM_PACK_H
#else
#define ASSAY_CPU_GEMM_PACK_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sixteen bytes of a panel's row at four (32 bits) or two (64 bits) values of k, from as many rows of a matrix.
template <class C, HWY_IF_LANE_SIZE(C, 4)>
HWY_INLINE void transpose(const C* from, std::int64_t stride, C* to, std::int64_t width) {
  const hn::FixedTag<C, 4> d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride), c = hn::LoadU(d, from + 2 * stride),
             e = hn::LoadU(d, from + 3 * stride);
  const auto ab = hn::InterleaveLower(d, a, b), ce = hn::InterleaveLower(d, c, e);
  const auto ab2 = hn::InterleaveUpper(d, a, b), ce2 = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, ce, ab), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, ce, ab), d, to + width);
  hn::StoreU(hn::ConcatLowerLower(d, ce2, ab2), d, to + 2 * width);
  hn::StoreU(hn::ConcatUpperUpper(d, ce2, ab2), d, to + 3 * width);
}
template <class C, HWY_IF_LANE_SIZE(C, 8)>
HWY_INLINE void transpose(const C* from, std::int64_t stride, C* to, std::int64_t width) {
  const hn::FixedTag<C, 2> d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + width);
}

// `rows` <= R rows, `depth` values of k. One of the strides should be 1; any will do.
template <int R, class C>
HWY_NOINLINE void pack_panel(C* to, const C* from, std::int64_t row_stride, std::int64_t k_stride,
                             std::int64_t rows, std::int64_t depth) {
  // Of the small transposition, which two-byte elements do without.
  constexpr std::int64_t step = HWY_MIN(16 / static_cast<int>(sizeof(C)), 4);
  static_assert(R % step == 0);
  std::int64_t k = 0;
  if (rows == R && row_stride == 1) {
    const hn::FixedTag<C, step> d;
    for (; k < depth; ++k)
      for (std::int64_t r = 0; r < R; r += step)
        hn::StoreU(hn::LoadU(d, from + k * k_stride + r), d, to + k * R + r);
  } else if (rows == R && k_stride == 1) {
    if constexpr (sizeof(C) >= 4)
      for (; k + step <= depth; k += step)
        for (std::int64_t r = 0; r < R; r += step)
          transpose(from + r * row_stride + k, row_stride, to + k * R + r, R);
  }
  for (; k < depth; ++k)
    for (std::int64_t r = 0; r < R; ++r)
      to[k * R + r] = r < rows ? from[r * row_stride + k * k_stride] : C{0};
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
