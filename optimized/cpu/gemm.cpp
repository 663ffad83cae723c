// Matrix products, with what is added to them.
//
// The idea (Goto and van de Geijn 2008; Van Zee and van de Geijn, BLIS, 2015): the inner loop keeps a tile of
// the output in registers (gemm_tile.h) and adds outer products of a column of a and a row of b, both read
// from packed panels (gemm_pack.h). Around it, blocks of kGemmBlock values of k make a panel of b stay in the
// L1 cache, kBlockRows rows of a in L2, kBlockColumns columns of b in L2 or L3. f16 and bf16 are converted to
// f32 while packing. What is small, or used by one row of tiles only, is read where it lies; a single row goes its own way
// (gemm_row.h).
//
// The order of accumulation: for every output element k runs upwards through a block in one fused
// multiply-add (without FMA: product, then sum) a term; the blocks' sums are added in order. That depends on
// k alone: not on the tile an element falls into, on strides, on the sizes of the other dimensions or on
// threads, so rows are independent bit for bit. A term passes at most ceil(K / 256) + 256 additions. All of
// it is in f32 (f64 for f64): where the output cannot hold that, sums over the blocks are kept in a buffer,
// and rounded once at the end. alpha and the addend, one more term, come last.
//
// Integers go the same way, as unsigned numbers of their width, whose low bits are the same: they wrap, so that no
// order matters. Those of 8 bits are summed in 16, of which processors have a multiplication.
//
// Layouts: any. If the output is dense along columns, or has few of them, the transposed product is computed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/gemm.cpp"
#include "levels.h"

#include "gather.h"
#include "gemm.h"
#include "gemm_pack.h"
#include "gemm_row.h"
#include "gemm_tile.h"
#include "parallel.h"
#include "scratch.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kBlockRows = 240;  // multiples of every kTileRows and every kTileColumns
constexpr std::int64_t kBlockColumns = 1536;
constexpr std::int64_t kBufferedRows = 4 * kBlockRows;
// Multiplications: below which packing costs more than it brings, and which are worth another thread.
constexpr std::int64_t kSmall = 96 * 96 * 96;
constexpr std::int64_t kGrain = std::int64_t{1} << 20;

constexpr std::int64_t up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

// What an element is computed in.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, std::uint8_t>, std::uint16_t,
                               std::conditional_t<std::is_integral_v<T>, T, Compute<T>>>;

// Elements at a distance to and from a buffer, as gather.h says.
template <class C, class T>
void collect(C* to, const T* from, Dtype type, std::int64_t step, std::int64_t n) {
  if constexpr (std::is_integral_v<T>)
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  else
    gather(to, from, type, step, type, n);
}
template <class C, class T>
void distribute(T* to, Dtype type, std::int64_t step, const C* from, std::int64_t n) {
  if constexpr (std::is_integral_v<T>)
    for (std::int64_t i = 0; i < n; ++i) to[i * step] = static_cast<T>(from[i]);
  else
    scatter(to, type, step, from, n);
}

template <class C>
C factor(Scalar s) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(s.integer);
  else
    return static_cast<C>(s.real);
}

// A matrix of T, read as C from memory with at least one stride 1.
template <class T, class C>
class Source {
 public:
  Source(Dtype type, const Matrix& m) : type_(type), m_(m) {}

  // Whether it can be packed from where it lies.
  bool direct() const { return std::is_same_v<T, C> && (m_.row_stride == 1 || m_.column_stride == 1); }
  const C* at(std::int64_t row, std::int64_t column) const {
    return static_cast<const C*>(m_.data) + row * m_.row_stride + column * m_.column_stride;
  }

  // Rows [row, row + rows), columns [column, column + columns), in panels of R rows, or of R columns.
  // `converted` has room for them if direct() is false.
  template <int R>
  void pack_rows(C* to, C* converted, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns) const {
    const Block b = block(converted, row, rows, column, columns);
    for (std::int64_t r = 0; r < rows; r += R)
      pack_panel<R>(to + r * columns, b.data + r * b.row_stride, b.row_stride, b.column_stride,
                    HWY_MIN(std::int64_t{R}, rows - r), columns);
  }
  template <int R>
  void pack_columns(C* to, C* converted, std::int64_t row, std::int64_t rows, std::int64_t column,
                    std::int64_t columns) const {
    const Block b = block(converted, row, rows, column, columns);
    for (std::int64_t c = 0; c < columns; c += R)
      pack_panel<R>(to + c * rows, b.data + c * b.column_stride, b.column_stride, b.row_stride,
                    HWY_MIN(std::int64_t{R}, columns - c), rows);
  }

 private:
  struct Block {
    const C* data;
    std::int64_t row_stride, column_stride;
  };
  Block block(C* converted, std::int64_t row, std::int64_t rows, std::int64_t column,
              std::int64_t columns) const {
    if (direct()) return {at(row, column), m_.row_stride, m_.column_stride};
    const T* const from = static_cast<const T*>(m_.data) + row * m_.row_stride + column * m_.column_stride;
    if (m_.row_stride == 1) {
      for (std::int64_t c = 0; c < columns; ++c)
        collect(converted + c * rows, from + c * m_.column_stride, type_, 1, rows);
      return {converted, 1, rows};
    }
    for (std::int64_t r = 0; r < rows; ++r)
      collect(converted + r * columns, from + r * m_.row_stride, type_, m_.column_stride, columns);
    return {converted, columns, 1};
  }

  Dtype type_;
  const Matrix& m_;
};

// Rows of sums, in place: alpha sum + beta addend, whose element (0, 0) is that of the first sum.
template <class T, class C>
HWY_NOINLINE void finish(Dtype type, const Affine& affine, std::int64_t row, std::int64_t column, C* sums,
                         std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  if (affine.is_identity()) return;
  constexpr std::int64_t kChunk = 256;
  const hn::ScalableTag<C> d;
  const auto alpha = hn::Set(d, factor<C>(affine.alpha)), beta = hn::Set(d, factor<C>(affine.beta));
  const Matrix& c = affine.addend;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN C addend[kChunk] = {};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; j += kChunk) {
      const std::int64_t n = HWY_MIN(kChunk, columns - j);
      if (c.data != nullptr)
        collect(addend,
                static_cast<const T*>(c.data) + (row + i) * c.row_stride + (column + j) * c.column_stride,
                type, c.column_stride, n);
      C* const at = sums + i * stride + j;
      const auto value = [&](auto sum, auto other) HWY_ATTR {
        const auto scaled = hn::Mul(alpha, sum);
        return c.data == nullptr ? scaled : multiply_add(beta, other, scaled);
      };
      std::int64_t k = 0;
      for (; k + lanes <= n; k += lanes)
        hn::StoreU(value(hn::LoadU(d, at + k), hn::Load(d, addend + k)), d, at + k);
      if (k < n) store_n(value(load_n(d, at + k, n - k), hn::Load(d, addend + k)), d, at + k, n - k);
    }
  }
}

// Small products of matrices of the compute type. Preconditions: the columns of b and of out are dense.
template <class C>
void multiply_in_place(Dtype type, const Matrix& a, const Matrix& b, const Matrix& out,
                       const Affine& affine) {
  const C* const x = static_cast<const C*>(a.data);
  for (std::int64_t k = 0; k < a.columns; k += kGemmBlock) {
    const std::int64_t depth = HWY_MIN(kGemmBlock, a.columns - k);
    for (std::int64_t j = 0; j < out.columns; j += kTileColumns<C>) {
      const C* const y = static_cast<const C*>(b.data) + k * b.row_stride + j;
      for (std::int64_t i = 0; i < out.rows; i += kTileRows)
        tile<false, C>(
            HWY_MIN(std::int64_t{kTileRows}, out.rows - i), depth,
            {x + i * a.row_stride + k * a.column_stride, a.row_stride, a.column_stride, y, b.row_stride},
            static_cast<C*>(out.data) + i * out.row_stride + j, out.row_stride,
            HWY_MIN(std::int64_t{kTileColumns<C>}, out.columns - j), k != 0);
    }
  }
  finish<C>(type, affine, 0, 0, static_cast<C*>(out.data), out.row_stride, out.rows, out.columns);
}

// The product on one thread.
template <class T>
void multiply(Dtype type, const Matrix& a, const Matrix& b, const Matrix& out, const Affine& affine) {
  using C = Sum<T>;
  constexpr std::int64_t width = kTileColumns<C>;
  const std::int64_t m = out.rows, n = out.columns, depth = a.columns;
  const bool direct = std::is_same_v<T, C> && out.column_stride == 1;
  const bool b_dense = std::is_same_v<T, C> && b.column_stride == 1;
  if constexpr (!std::is_integral_v<T>)  // of which small products are not worth the code
    if (direct && b_dense && m * n * depth <= kSmall) return multiply_in_place<C>(type, a, b, out, affine);
  if constexpr (std::is_same_v<T, C> && !std::is_integral_v<T>)
    if (direct && m == 1 && a.column_stride == 1 && b.row_stride == 1 && n >= kColumnRows<C>) {
      C* const to = static_cast<C*>(out.data);
      row_times_columns(depth, static_cast<const C*>(a.data), static_cast<const C*>(b.data), b.column_stride,
                        to, n);
      return finish<C>(type, affine, 0, 0, to, out.row_stride, 1, n);
    }

  const Source<T, C> rows_of_a(type, a), columns_of_b(type, b);
  const bool b_in_place = b_dense && m <= kTileRows;
  const bool converts = !rows_of_a.direct() || (!columns_of_b.direct() && !b_in_place);
  const std::int64_t k_most = HWY_MIN(depth, kGemmBlock);
  const std::int64_t m_most = HWY_MIN(up(m, kTileRows), kBlockRows),
                     n_most = HWY_MIN(up(n, width), kBlockColumns);
  const std::int64_t m_kept = direct ? m : HWY_MIN(m, kBufferedRows);
  const std::int64_t sums_stride = n_most + 16;  // not a power of two, whose multiples share few cache sets
  const std::int64_t sizes[] = {m_most * k_most, b_in_place ? 0 : n_most * k_most,
                                converts ? HWY_MAX(m_most, n_most) * k_most : 0,
                                direct ? 0 : m_kept * sums_stride};
  Scratch scratch(scratch_bytes<C>(sizes[0]) + scratch_bytes<C>(sizes[1]) + scratch_bytes<C>(sizes[2]) +
                  scratch_bytes<C>(sizes[3]));
  C* const packed_a = scratch.take<C>(sizes[0]);
  C* const packed_b = scratch.take<C>(sizes[1]);
  C* const converted = scratch.take<C>(sizes[2]);
  C* const sums = scratch.take<C>(sizes[3]);

  for (std::int64_t i0 = 0; i0 < m; i0 += m_kept) {
    const std::int64_t m_here = HWY_MIN(m_kept, m - i0);
    for (std::int64_t j0 = 0; j0 < n; j0 += n_most) {
      const std::int64_t n_here = HWY_MIN(n_most, n - j0);
      // Where the block's sums are kept: the output itself, or the buffer.
      C* const kept = direct ? static_cast<C*>(out.data) + i0 * out.row_stride + j0 : sums;
      const std::int64_t stride = direct ? out.row_stride : sums_stride;
      for (std::int64_t k0 = 0; k0 < depth; k0 += k_most) {
        const std::int64_t k_here = HWY_MIN(k_most, depth - k0);
        if (!b_in_place)
          columns_of_b.template pack_columns<kTileColumns<C>>(packed_b, converted, k0, k_here, j0, n_here);
        for (std::int64_t i1 = 0; i1 < m_here; i1 += m_most) {
          const std::int64_t m_block = HWY_MIN(m_most, m_here - i1);
          rows_of_a.template pack_rows<kTileRows>(packed_a, converted, i0 + i1, m_block, k0, k_here);
          for (std::int64_t j = 0; j < n_here; j += width) {
            const C* const panel = b_in_place ? columns_of_b.at(k0, j0 + j) : packed_b + j * k_here;
            const std::int64_t b_k = b_in_place ? b.row_stride : width;
            for (std::int64_t i = 0; i < m_block; i += kTileRows)
              tile<true, C>(HWY_MIN(std::int64_t{kTileRows}, m_block - i), k_here,
                            {packed_a + i * k_here, 1, kTileRows, panel, b_k}, kept + (i1 + i) * stride + j,
                            stride, HWY_MIN(width, n_here - j), k0 != 0);
          }
        }
      }
      finish<T>(type, affine, i0, j0, kept, stride, m_here, n_here);
      if (direct) continue;
      T* const to = static_cast<T*>(out.data) + i0 * out.row_stride + j0 * out.column_stride;
      for (std::int64_t i = 0; i < m_here; ++i)
        distribute(to + i * out.row_stride, type, out.column_stride, sums + i * sums_stride, n_here);
    }
  }
}

// The product on all threads.
template <class T>
void multiply_in_parts(Dtype type, const Matrix& a, const Matrix& b, const Matrix& out,
                       const Affine& affine) {
  if (a.columns == 0) {
    for (std::int64_t i = 0; i < out.rows; ++i)
      for (std::int64_t j = 0; j < out.columns; ++j) {
        Sum<T> sum = 0;
        finish<T>(type, affine, i, j, &sum, 1, 1, 1);
        distribute(static_cast<T*>(out.data) + i * out.row_stride + j * out.column_stride, type, 1, &sum, 1);
      }
    return;
  }
  // Threads share the longer side of the output, in whole tiles.
  const bool by_columns = out.columns >= out.rows;
  const std::int64_t step = by_columns ? kTileColumns<Sum<T>> : kTileRows;
  const std::int64_t length = by_columns ? out.columns : out.rows;
  const std::int64_t work = (by_columns ? out.rows : out.columns) * a.columns * step;
  parallel_for(
      (length + step - 1) / step, 1 + kGrain / work, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
        const std::int64_t first = begin * step, size = HWY_MIN(end * step, length) - first;
        Matrix part_a = a, part_b = b, part = out;
        Affine part_affine = affine;
        (by_columns ? part.columns : part.rows) = size;
        part.data = static_cast<T*>(out.data) + first * (by_columns ? out.column_stride : out.row_stride);
        if (by_columns) {
          part_b.columns = size;
          part_b.data = static_cast<T*>(b.data) + first * b.column_stride;
        } else {
          part_a.rows = size;
          part_a.data = static_cast<T*>(a.data) + first * a.row_stride;
        }
        if (Matrix& c = part_affine.addend; c.data != nullptr)
          c.data = static_cast<T*>(c.data) + first * (by_columns ? c.column_stride : c.row_stride);
        multiply<T>(type, part_a, part_b, part, part_affine);
      });
}

}  // namespace

void gemm(Dtype type, const Matrix& a_given, const Matrix& b_given, const Matrix& out_given,
          const Affine& affine_given) {
  if (out_given.rows == 0 || out_given.columns == 0) return;
  // Vectors run along the dense direction of the output, unless that is short and the other one longer.
  const auto short_beside = [](std::int64_t n, std::int64_t other) { return n < 8 && n < other; };
  const bool transpose = out_given.column_stride != 1 && out_given.row_stride == 1
                             ? !short_beside(out_given.rows, out_given.columns)
                             : short_beside(out_given.columns, out_given.rows);
  const Matrix a = transpose ? b_given.transposed() : a_given, b = transpose ? a_given.transposed() : b_given;
  const Matrix out = transpose ? out_given.transposed() : out_given;
  Affine affine = affine_given;
  if (transpose) affine.addend = affine.addend.transposed();
  if (is_float(type)) {
    ASSAY_CPU_WITH_ELEMENT(type, T, multiply_in_parts<T>(type, a, b, out, affine));
    return;
  }
  switch (bytes(type)) {
    case 1:
      return multiply_in_parts<std::uint8_t>(type, a, b, out, affine);
    case 2:
      return multiply_in_parts<std::uint16_t>(type, a, b, out, affine);
    case 4:
      return multiply_in_parts<std::uint32_t>(type, a, b, out, affine);
    default:
      return multiply_in_parts<std::uint64_t>(type, a, b, out, affine);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
