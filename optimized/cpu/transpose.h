// Rows that become columns on their way through registers. Compiled for each level.
//
// The idea: a vector takes sixteen bytes of each of one or two rows (of a row in each of its 128-bit blocks). Log2(n)
// rounds in which vector i is interleaved with vector i + n / 2 then change rows for columns within all blocks, so that
// each vector holds one number of every row. Rounds in the other direction are the same ones. Elements are moved as bits.
#include <cstdint>

#include "hwy/highway.h"

#if defined(ASSAY_CPU_TRANSPOSE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_TRANSPOSE_H
#undef ASSAY_CPU_TRANSPOSE_H
#else
#define ASSAY_CPU_TRANSPOSE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A block is kColumnRows<T> rows of kColumns<T> numbers.
template <class T>
using ColumnTag = hn::CappedTag<T, 32 / sizeof(T)>;
template <class T>
inline constexpr std::int64_t kColumnRows = HWY_MIN(HWY_MAX_BYTES, 32) / sizeof(T);
template <class T>
inline constexpr std::int64_t kColumns = 16 / sizeof(T);

// One round as often as it takes.
template <class T>
HWY_INLINE void exchange(hn::Vec<ColumnTag<T>>* v) {
  constexpr int n = static_cast<int>(kColumns<T>);
  const ColumnTag<T> d;
#pragma GCC unroll 4
  for (int round = 1; round < n; round *= 2) {
    hn::Vec<ColumnTag<T>> next[n];
#pragma GCC unroll 8
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, v[i], v[i + n / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + n / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) v[i] = next[i];
  }
}

// Lane r of column[c] is from[r * stride + c].
template <class T>
HWY_INLINE void load_columns(hn::Vec<ColumnTag<T>>* column, const T* from, std::int64_t stride) {
  constexpr std::int64_t n = kColumns<T>;
#if HWY_TARGET == HWY_EMU128  // whose interleaving is slower than moves one by one
  HWY_ALIGN T block[n * n];
  for (std::int64_t c = 0; c < n; ++c)
    for (std::int64_t r = 0; r < n; ++r) block[c * n + r] = from[r * stride + c];
  for (std::int64_t c = 0; c < n; ++c) column[c] = hn::Load(ColumnTag<T>(), block + c * n);
#else
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < n; ++r) {
    const T* const row = from + r * stride;
    if constexpr (kColumnRows<T> == n) {
      column[r] = hn::LoadU(ColumnTag<T>(), row);
    } else {
      const hn::Half<ColumnTag<T>> half;
      column[r] = hn::Combine(ColumnTag<T>(), hn::LoadU(half, row + n * stride), hn::LoadU(half, row));
    }
  }
  exchange<T>(column);
#endif
}

// The same way back. The vectors are lost.
template <class T>
HWY_INLINE void store_columns(hn::Vec<ColumnTag<T>>* column, T* to, std::int64_t stride) {
  constexpr std::int64_t n = kColumns<T>;
#if HWY_TARGET == HWY_EMU128
  HWY_ALIGN T block[n * n];
  for (std::int64_t c = 0; c < n; ++c) hn::Store(column[c], ColumnTag<T>(), block + c * n);
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t c = 0; c < n; ++c) to[r * stride + c] = block[c * n + r];
#else
  exchange<T>(column);
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < n; ++r) {
    T* const row = to + r * stride;
    if constexpr (kColumnRows<T> == n) {
      hn::StoreU(column[r], ColumnTag<T>(), row);
    } else {
      const hn::Half<ColumnTag<T>> half;
      hn::StoreU(hn::LowerHalf(half, column[r]), half, row);
      hn::StoreU(hn::UpperHalf(half, column[r]), half, row + n * stride);
    }
  }
#endif
}

// to[c * to_stride + r] = from[r * from_stride + c] for r < rows and c < columns, two pieces of memory. Should be so few
// rows that a cache line of each stays in the first-level cache; what is written, is in order.
template <class T>
HWY_NOINLINE void transpose_rows(T* to, std::int64_t to_stride, const T* from, std::int64_t from_stride,
                                 std::int64_t rows, std::int64_t columns) {
  if (rows < kColumnRows<T> || columns < kColumns<T>) {
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
    return;
  }
  // The last blocks overlap those before them.
  for (std::int64_t next_c = 0; next_c < columns; next_c += kColumns<T>) {
    const std::int64_t c = HWY_MIN(next_c, columns - kColumns<T>);
    for (std::int64_t next_r = 0; next_r < rows; next_r += kColumnRows<T>) {
      const std::int64_t r = HWY_MIN(next_r, rows - kColumnRows<T>);
      hn::Vec<ColumnTag<T>> column[kColumns<T>];
      load_columns(column, from + r * from_stride + c, from_stride);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kColumns<T>; ++i)
        hn::StoreU(column[i], ColumnTag<T>(), to + (c + i) * to_stride + r);
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
