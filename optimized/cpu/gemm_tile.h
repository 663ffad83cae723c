// The innermost part of a matrix product: a tile of the output that stays in registers. Compiled for each
// level.
#include "lanes.h"

#if defined(ASSAY_CPU_GEMM_TILE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_GEMM_TILE_H
#undef ASSAY_CPU_GEMM_TILE_H
#else
#define ASSAY_CPU_GEMM_TILE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// As many sums as registers allow beside the vectors of a row of b and one element of a: 32 registers with
// AVX-512, 16 below. Twelve independent sums or more keep two multiply-add units of four cycles latency busy.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kTileRows = 12, kTileVectors = 2;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kTileRows = 4, kTileVectors = 3;
#else
inline constexpr int kTileRows = 4, kTileVectors = 2;
#endif
template <class C>
inline constexpr int kTileColumns = kTileVectors*(HWY_MAX_BYTES / static_cast<int>(sizeof(C)));

// Fused where the level has that. Highway has it of floating point alone.
template <class V>
HWY_INLINE V multiply_add(V a, V b, V c) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>())
    return hn::MulAdd(a, b, c);
  else
    return hn::Add(hn::Mul(a, b), c);
}

// Element (r, k) of a is a[r * a_row + k * a_k], element (k, c) of b is b[k * b_k + c].
template <class C>
struct TileOperands {
  const C* a;
  std::int64_t a_row, a_k;
  const C* b;
  std::int64_t b_k;
};

// out(r, c) = [out(r, c) if add] + sum over k < depth of a(r, k) b(k, c), for r < rows and c < columns. The
// sum starts at 0 and takes the terms in the order of k, fused where the level has that, so an element's bits
// do not depend on the tile. `packed` promises a_row = 1 and a_k = kTileRows; `whole`, that columns =
// kTileColumns.
template <int rows, bool packed, bool whole, class C>
HWY_NOINLINE void tile_of(std::int64_t depth, TileOperands<C> in, C* out, std::int64_t stride,
                          std::int64_t columns, bool add) {
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  const std::int64_t a_row = packed ? 1 : in.a_row, a_k = packed ? kTileRows : in.a_k;
  // A vector that is partly, or not at all, inside the tile is read and written in part, or not at all.
  const auto read = [&](const C* p, std::int64_t v) HWY_ATTR {
    const std::int64_t n = columns - v * lanes;
    return whole || n >= lanes ? hn::LoadU(d, p + v * lanes)
           : n > 0             ? load_lanes(d, p + v * lanes, n)
                               : hn::Zero(d);
  };
  V sum[rows][kTileVectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) sum[r][v] = hn::Zero(d);
  const C* a = in.a;
  const C* b = in.b;
  for (std::int64_t k = 0; k < depth; ++k, a += a_k, b += in.b_k) {
    V row[kTileVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) row[v] = read(b, v);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const V element = hn::Set(d, a[r * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] = multiply_add(element, row[v], sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    C* const to = out + r * stride;
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      const V result = add ? hn::Add(read(to, v), sum[r][v]) : sum[r][v];
      const std::int64_t n = columns - v * lanes;
      if (whole || n >= lanes)
        hn::StoreU(result, d, to + v * lanes);
      else if (n > 0)
        store_lanes(result, d, to + v * lanes, n);
    }
  }
}

template <bool packed, bool whole, class C>
void tiles_of(std::int64_t rows, std::int64_t depth, TileOperands<C> in, C* out, std::int64_t stride,
              std::int64_t columns, bool add) {
  const auto next = [&](std::int64_t done) {
    rows -= done;
    in.a += done * (packed ? 1 : in.a_row);
    out += done * stride;
  };
  if constexpr (kTileRows == 12) {
    if (rows == 12) return tile_of<12, packed, whole>(depth, in, out, stride, columns, add);
    if (rows >= 8) tile_of<8, packed, whole>(depth, in, out, stride, columns, add), next(8);
  }
  if (rows >= 4) tile_of<4, packed, whole>(depth, in, out, stride, columns, add), next(4);
  if (rows >= 2) tile_of<2, packed, whole>(depth, in, out, stride, columns, add), next(2);
  if (rows >= 1) tile_of<1, packed, whole>(depth, in, out, stride, columns, add);
}

// The same for any rows <= kTileRows and columns <= kTileColumns.
template <bool packed, class C>
void tile(std::int64_t rows, std::int64_t depth, const TileOperands<C>& in, C* out, std::int64_t stride,
          std::int64_t columns, bool add) {
  static_assert(kTileRows == 4 || kTileRows == 12);
  if (columns == kTileColumns<C>)
    tiles_of<packed, true>(rows, depth, in, out, stride, columns, add);
  else
    tiles_of<packed, false>(rows, depth, in, out, stride, columns, add);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
