// Matrix product.
//
// The idea (Goto & van de Geijn 2008; Van Zee & van de Geijn 2015, "BLIS"): panels of both operands are packed into
// the order in which a register tile reads them, in the compute type, so that any strides and any dtype cost one pass
// over the operands. b's block stays in the second-level cache, a's block in the first and second.
// Every element is one chain of (fused) multiply-adds in the order of k, kept in the compute type over the whole of K
// and rounded to the output once: no split of K, so the bits do not depend on blocks, threads, layouts or other rows.
// The price is the error of a plain sum, (K - 1) u sum |a b| at most.
// Small products of f32 and f64 skip the packing.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/mm.cpp"
#include "levels.h"

#include <algorithm>

#include "gather.h"
#include "mm_tile.h"
#include "ops/mm.h"
#include "parallel.h"
#include "scratch.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kDepth = 256;          // of a packed block, in k
constexpr std::int64_t kRows = 96;            // of a packed block of a; a multiple of every kTileRows
constexpr std::int64_t kColumns = 1024;       // of a packed block of b
constexpr std::int64_t kSmall = 24 * 24 * 24; // multiply-adds below which packing costs more than it brings
constexpr std::int64_t kGrain = 1 << 17;      // multiply-adds that are worth a thread

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

const char* element(const View& m, std::int64_t i, std::int64_t j) {
  return static_cast<const char*>(m.data) + (i * m.stride(0) + j * m.stride(1)) * bytes(m.type());
}

// Rows [row, row + n) of a, n <= kTileRows, as [k][kTileRows]; missing rows are zeros.
template <class C>
void pack_rows(C* to, const View& a, std::int64_t row, std::int64_t n, std::int64_t k, std::int64_t depth, C* line) {
  if (n < kTileRows) std::fill(to, to + depth * kTileRows, C(0));
  if (a.stride(0) == 1) {
    for (std::int64_t p = 0; p < depth; ++p)
      gather(to + p * kTileRows, element(a, row, k + p), a.type(), 1, a.type(), n);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    gather(line, element(a, row + i, k), a.type(), a.stride(1), a.type(), depth);
    for (std::int64_t p = 0; p < depth; ++p) to[p * kTileRows + i] = line[p];
  }
}

// Columns [column, column + n) of b, n <= tile_columns, as [k][tile_columns]; missing columns are zeros.
template <class C>
void pack_columns(C* to, const View& b, std::int64_t column, std::int64_t n, std::int64_t k, std::int64_t depth, C* line) {
  constexpr std::int64_t width = tile_columns<C>();
  if (n < width) std::fill(to, to + depth * width, C(0));
  if (b.stride(0) == 1 && b.stride(1) != 1) {
    for (std::int64_t j = 0; j < n; ++j) {
      gather(line, element(b, k, column + j), b.type(), 1, b.type(), depth);
      for (std::int64_t p = 0; p < depth; ++p) to[p * width + j] = line[p];
    }
    return;
  }
  for (std::int64_t p = 0; p < depth; ++p)
    gather(to + p * width, element(b, k + p, column), b.type(), b.stride(1), b.type(), n);
}

// All rows of a against one panel of b, without packing a; the rows that fill no tile one by one.
template <int rows, bool whole_b, class C>
void sweep(std::int64_t& row, std::int64_t m, std::int64_t depth, Operand<C> a, Operand<C> b, C* c, std::int64_t c_row,
           std::int64_t columns) {
  for (; row + rows <= m; row += rows)
    tile<rows, whole_b>(depth, {a.data + row * a.major, a.major, a.minor}, b, c + row * c_row, c_row, columns, true);
}

// Operands of the compute type whose memory a tile can read: b's rows and the result's are without gaps.
template <class C>
void multiply_in_place(const View& a, const View& b, View& out) {
  const std::int64_t m = out.size(0);
  const std::int64_t n = out.size(1);
  const std::int64_t depth = a.size(1);
  constexpr std::int64_t width = tile_columns<C>();
  const Operand<C> left{a.as<C>(), a.stride(0), a.stride(1)};
  for (std::int64_t j = 0; j < n; j += width) {
    const Operand<C> right{b.as<C>() + j, b.stride(0), 1};
    C* const c = out.as<C>() + j;
    const std::int64_t columns = std::min(width, n - j);
    std::int64_t row = 0;
    if (columns == width) {
      sweep<4, true>(row, m, depth, left, right, c, out.stride(0), columns);
      sweep<1, true>(row, m, depth, left, right, c, out.stride(0), columns);
    } else {
      sweep<4, false>(row, m, depth, left, right, c, out.stride(0), columns);
      sweep<1, false>(row, m, depth, left, right, c, out.stride(0), columns);
    }
  }
}

// The rows [begin, end) of a block, from packed b to c, whose columns are neighbours.
template <class C>
void multiply_rows(std::int64_t begin, std::int64_t end, const View& a, std::int64_t k, std::int64_t depth,
                   const C* packed_b, std::int64_t columns, C* c, std::int64_t c_row, bool first) {
  constexpr std::int64_t width = tile_columns<C>();
  const Scratch<C> packed_a(kRows * depth + kDepth);
  C* const line = packed_a.get() + kRows * depth;
  for (std::int64_t row = begin; row < end; row += kRows) {
    const std::int64_t rows = std::min(kRows, end - row);
    for (std::int64_t i = 0; i < rows; i += kTileRows)
      pack_rows(packed_a.get() + i * depth, a, row + i, std::min<std::int64_t>(kTileRows, rows - i), k, depth, line);
    for (std::int64_t j = 0; j < columns; j += width) {
      const Operand<C> right{packed_b + j * depth, width, 1};
      const std::int64_t n = std::min(width, columns - j);
      for (std::int64_t i = 0; i < rows; i += kTileRows) {
        const Operand<C> left{packed_a.get() + i * depth, 1, kTileRows};
        C* const to = c + (row + i) * c_row + j;
        if (rows - i >= kTileRows) {
          tile<kTileRows, true>(depth, left, right, to, c_row, n, first);
        } else {
          for (std::int64_t r = 0; r < rows - i; ++r)
            tile<1, true>(depth, {left.data + r, 1, kTileRows}, right, to + r * c_row, c_row, n, first);
        }
      }
    }
  }
}

template <class C>
void multiply_packed(const View& a, const View& b, View& out, bool direct) {
  const std::int64_t m = out.size(0);
  const std::int64_t n = out.size(1);
  const std::int64_t total_depth = a.size(1);
  constexpr std::int64_t width = tile_columns<C>();
  const std::int64_t block = round_up(std::min(n, kColumns), width);
  const Scratch<C> packed_b(block * std::min(total_depth, kDepth));
  // Sums of the compute type, where the result cannot hold them.
  const Scratch<C> sums(direct ? 1 : m * block);
  for (std::int64_t j = 0; j < n; j += kColumns) {
    const std::int64_t columns = std::min(kColumns, n - j);
    C* const c = direct ? out.as<C>() + j : sums.get();
    const std::int64_t c_row = direct ? out.stride(0) : block;
    for (std::int64_t k = 0; k < total_depth; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, total_depth - k);
      const std::int64_t panels = (columns + width - 1) / width;
      parallel_for(panels, std::max<std::int64_t>(1, kGrain / (8 * width * depth)), [&](std::int64_t first, std::int64_t last) HWY_ATTR {
        HWY_ALIGN C line[kDepth];
        for (std::int64_t p = first; p < last; ++p)
          pack_columns(packed_b.get() + p * width * depth, b, j + p * width, std::min(width, columns - p * width), k, depth, line);
      });
      const std::int64_t tiles = (m + kTileRows - 1) / kTileRows;
      parallel_for(tiles, std::max<std::int64_t>(1, kGrain / (kTileRows * columns * depth)), [&](std::int64_t first, std::int64_t last) HWY_ATTR {
        multiply_rows(first * kTileRows, std::min(m, last * kTileRows), a, k, depth, packed_b.get(), columns, c, c_row, k == 0);
      });
    }
    if (direct) continue;
    for (std::int64_t i = 0; i < m; ++i)
      scatter(const_cast<char*>(element(out, i, j)), out.type(), out.stride(1), c + i * c_row, columns);
  }
}

template <class T>
void multiply(const View& a, const View& b, View& out) {
  using C = Compute<T>;
  const std::int64_t m = out.size(0);
  const std::int64_t n = out.size(1);
  if (m == 0 || n == 0) return;
  if (a.size(1) == 0) {
    const C zeros[64] = {};
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; j += 64)
        scatter(const_cast<char*>(element(out, i, j)), out.type(), out.stride(1), zeros, std::min<std::int64_t>(64, n - j));
    return;
  }
  const bool direct = std::is_same_v<T, C> && (out.stride(1) == 1 || n == 1);
  if constexpr (std::is_same_v<T, C>) {
    if (direct && (b.stride(1) == 1 || n == 1) && m * n * a.size(1) <= kSmall) return multiply_in_place<C>(a, b, out);
  }
  multiply_packed<C>(a, b, out, direct);
}

void mm(const View& self, const View& mat2, View& out) {
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, multiply<T>(self, mat2, out))
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::mm, mm, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
