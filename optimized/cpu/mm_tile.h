// The innermost part of the matrix product: a tile of the result that stays in registers. Compiled for each level.
#include <algorithm>

#include "lanes.h"

#if defined(ASSAY_CPU_MM_TILE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_CPU_MM_TILE_H
#undef ASSAY_CPU_MM_TILE_H
#else
#define ASSAY_CPU_MM_TILE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// kTileRows x kTileVectors sums, the vectors of one row of b and one number of a fit the registers: 32 with AVX-512,
// 16 below. 24 (12) independent sums keep two multiply-add ports with a latency of four cycles busy.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kTileRows = 12;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kTileRows = 6;
#else
inline constexpr int kTileRows = 4;
#endif
inline constexpr int kTileVectors = 2;

template <class C>
constexpr std::int64_t tile_columns() {
  return kTileVectors * static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<C>()));
}

// An operand: element (i, k) of a, or (k, j) of b, is data[i or k times `major` + k times `minor`]; b's columns are
// neighbours.
template <class C>
struct Operand {
  const C* data;
  std::int64_t major;
  std::int64_t minor;
};

// c(i, j) = before(i, j) + sum over k < depth of a(i, k) * b(k, j), for i < rows and j < columns <= tile_columns.
// `before` is 0 if `first`, else what c holds; terms are added in the order of k, fused where the level has that. So
// the bits of an element depend on nothing but its row, its column and k's order, whatever the blocking.
// With whole_b every row of b may be read to the tile's full width.
template <int rows, bool whole_b, class C>
HWY_INLINE void tile(std::int64_t depth, Operand<C> a, Operand<C> b, C* c, std::int64_t c_row, std::int64_t columns,
                     bool first) {
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto in_vector = [&](int v) HWY_ATTR {
    return std::clamp<std::int64_t>(columns - v * lanes, 0, lanes);
  };
  V sum[rows][kTileVectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kTileVectors; ++v) {
      const std::int64_t n = in_vector(v);
      if (first)
        sum[i][v] = hn::Zero(d);
      else
        sum[i][v] = n == lanes ? hn::LoadU(d, c + i * c_row + v * lanes) : load_lanes(d, c + i * c_row + v * lanes, n);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    V row[kTileVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kTileVectors; ++v) {
      const C* p = b.data + k * b.major + v * lanes;
      if constexpr (whole_b)
        row[v] = hn::LoadU(d, p);
      else
        row[v] = in_vector(v) == lanes ? hn::LoadU(d, p) : load_lanes(d, p, in_vector(v));
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const V number = hn::Set(d, a.data[i * a.major + k * a.minor]);
#pragma GCC unroll 16
      for (int v = 0; v < kTileVectors; ++v) sum[i][v] = hn::MulAdd(number, row[v], sum[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kTileVectors; ++v) {
      const std::int64_t n = in_vector(v);
      if (n == lanes)
        hn::StoreU(sum[i][v], d, c + i * c_row + v * lanes);
      else if (n > 0)
        store_lanes(sum[i][v], d, c + i * c_row + v * lanes, n);
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
