// The driver of element-wise operators: y[i] = op(x0[i], x1[i], ...) over any layouts, with broadcasting.
// Compiled for each level.
//
//   struct Relu {
//     template <class D, class V> HWY_INLINE V operator()(D d, V x) const { ... }
//   };
//   elementwise(Relu{}, out, self);
//
// op sees vectors of the compute type (element.h) and must treat each lane by itself. The inputs are
// converted to the output's dtype first. An input may share the output's memory if it has its shape, strides
// and dtype. Where the output is of integers, op has
//
//     std::int64_t integers(std::int64_t x) const;   // wraps as wrap.h does
//
// The idea: dimensions are put into the order of the output's memory and joined (space.h). If what remains of
// the innermost one is long, and every operand has the output's dtype and stride 1 or 0 there, rows are
// processed in place in memory; rows that are short are first joined, if the inputs that prevented it repeat
// (the bias of [rows, 3]). If inputs have stride 1 in another dimension (channels first from channels last),
// tiles of the two dimensions are transposed into a buffer, and the rows of a tile processed. Otherwise blocks
// of elements are gathered into buffers of the compute type, processed by the same code and scattered. Either
// way each element meets the same conversions and the same operations, so its bits depend neither on the
// layout nor on its position, nor on the number of threads.
#include <cstring>
#include <optional>

#include "lanes.h"
#include "parallel.h"
#include "runs.h"
#include "transpose.h"

#if defined(ASSAY_CPU_ELEMENTWISE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTWISE_H
#undef ASSAY_CPU_ELEMENTWISE_H
#else
#define ASSAY_CPU_ELEMENTWISE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// Elements of a block, and the least work that is worth another thread.
inline constexpr std::int64_t kBlock = 512;
// Rows shorter than this are joined if the inputs repeat from row to row.
inline constexpr std::int64_t kShortRow = 256;
inline constexpr std::int64_t kLongestPeriod = 512;
inline constexpr std::int64_t kElementwiseGrain = 32768;
// A tile that is transposed: a cache line of each of its columns.
inline constexpr std::int64_t kTransposedColumns = 128;
template <class T>
inline constexpr std::int64_t kTransposedRows = 64 / sizeof(T);

template <class C>
inline constexpr std::int64_t kLanes = HWY_MAX_BYTES / sizeof(C);

// kLanes equal elements, stored as whole vectors: loading one of these from smaller stores would have to wait for them.
template <class T>
HWY_INLINE void splat_lanes(T* to, T value) {
  const hn::CappedTag<Stored<T>, static_cast<std::size_t>(kLanes<Compute<T>>)> d;
  Stored<T> bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto v = hn::Set(d, bits);
  for (std::int64_t i = 0; i < kLanes<Compute<T>>; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::StoreU(v, d, reinterpret_cast<Stored<T>*>(to) + i);
}

// What a driver works on. Operand 0 is the output.
struct Operands {
  const Space& space;
  const View* const* views;

  const View& view(std::size_t i) const { return *views[i]; }
  Dtype type() const { return views[0]->type(); }
  char* address(std::size_t i, std::int64_t offset) const {
    return static_cast<char*>(views[i]->data) + offset * (views[i]->dtype.bits / 8);
  }
};

// out[i] = op(in[0][i], ...). If step[j] is 0, kLanes equal elements lie at in[j], and stand for all.
template <class T, class Op, std::size_t... k>
HWY_NOINLINE void process(const Op& given, T* out, const T* const* in, const std::int64_t* steps,
                          std::int64_t n, std::index_sequence<k...>) {
  using C = Compute<T>;
  const hn::ScalableTag<C> d;
  // Copies, which a store to `out` cannot change: they stay in registers.
  const Op op = given;
  const T* const from[] = {in[k]...};
  const std::int64_t step[] = {steps[k]...};
  std::int64_t i = 0;
  for (; i + kLanes<C> <= n; i += kLanes<C>) store(op(d, load(d, from[k] + i * step[k])...), d, out + i);
  if (i < n) store_n(op(d, load_n(d, from[k] + i * step[k], n - i)...), d, out + i, n - i);
}

// Rows in place in memory. Preconditions: every operand has the output's dtype, and stride 1 in dimension 0
// or, if it is an input, 0.
template <class T, class Op, std::size_t... k>
void process_rows(const Op& op, const Operands& operands, std::int64_t begin, std::int64_t end,
                  std::index_sequence<k...> indices) {
  T splat[sizeof...(k)][kLanes<Compute<T>>];
  const std::int64_t step[] = {operands.space.step(k + 1)...};
  for (Runs run(operands.space, begin, end); !run.done(); run.next()) {
    const T* in[] = {operands.view(k + 1).template as<const T>() + run.offset[k + 1]...};
    for (std::size_t j = 0; j < sizeof...(k); ++j) {
      if (step[j] != 0) continue;
      splat_lanes(splat[j], *in[j]);
      in[j] = splat[j];
    }
    process(op, operands.view(0).template as<T>() + run.offset[0], in, step, run.length, indices);
  }
}

// The first `period` elements of an operand in a space, and again until `n` are there.
template <class T>
void repeat(T* to, std::int64_t n, const T* from, const Space& space, std::size_t operand,
            std::int64_t period) {
  for (Runs run(space, 0, period); !run.done(); run.next())
    for (std::int64_t i = 0; i < run.length; ++i)
      *to++ = from[run.offset[operand] + i * space.stride[operand][0]];
  for (std::int64_t i = period; i < n; ++i, ++to) *to = to[-period];
}

// Rows in place in memory, with inputs that repeat within a row taken from a buffer that holds the
// repetition. Preconditions as above, but that inputs that repeat may have any strides within their period.
template <class T, class Op, std::size_t... k>
void process_folded(const Op& op, const Operands& operands, const Folded& folded, std::int64_t begin,
                    std::int64_t end, std::index_sequence<k...> indices) {
  T buffer[sizeof...(k)][kBlock + kLongestPeriod];
  std::int64_t filled[] = {(static_cast<void>(k), -1)...};  // the offset whose elements the buffer holds
  const std::int64_t step[] = {folded.repeats[k + 1] ? 1 : folded.space.stride[k + 1][0]...};
  for (Runs run(folded.space, begin, end); !run.done(); run.next()) {
    for (std::size_t j = 0; j < sizeof...(k); ++j) {
      const std::int64_t offset = run.offset[j + 1];
      if (step[j] != 0 && !folded.repeats[j + 1]) continue;
      if (filled[j] == offset) continue;
      filled[j] = offset;
      const T* from = operands.view(j + 1).template as<const T>() + offset;
      if (step[j] == 0)
        splat_lanes(buffer[j], *from);
      else
        repeat(buffer[j], kBlock + folded.period, from, operands.space, j + 1, folded.period);
    }
    T* out = operands.view(0).template as<T>() + run.offset[0];
    for (std::int64_t i = 0; i < run.length; i += kBlock) {
      const T* const in[] = {folded.repeats[k + 1] ? buffer[k] + (run.start() + i) % folded.period
                             : step[k] == 0
                                 ? buffer[k]
                                 : operands.view(k + 1).template as<const T>() + run.offset[k + 1] + i...};
      process(op, out + i, in, step, HWY_MIN(kBlock, run.length - i), indices);
    }
  }
}

// The dimension, if any, in which every input has stride 1 that has neither 1 nor 0 in dimension 0; 0 for none.
inline std::size_t transposed_dimension(const Space& space) {
  const auto fits = [&](std::size_t d) {
    for (std::size_t j = 1; j < static_cast<std::size_t>(space.operands); ++j)
      if (space.stride[j][0] != 0 && space.stride[j][0] != 1 && space.stride[j][d] != 1) return false;
    return true;
  };
  for (std::size_t d = 1; d < static_cast<std::size_t>(space.rank); ++d)
    if (fits(d)) return d;
  return 0;
}

// Tiles `begin` to `end` of the planes: inputs with gaps along dimension 0 are transposed first. Preconditions: every
// operand has the output's dtype, which has stride 1 in dimension 0, and inputs are as transposed_dimension() says.
template <class T, class Op, std::size_t... k>
void process_tiles(const Op& op, const Operands& operands, const Planes& planes, std::int64_t begin,
                   std::int64_t end, std::index_sequence<k...> indices) {
  T buffer[sizeof...(k)][kTransposedRows<T> * kTransposedColumns];  // a tile, or equal elements
  const std::int64_t step[] = {(planes.column_step[k + 1] == 0 ? 0 : 1)...};
  const std::int64_t along = (planes.columns + kTransposedColumns - 1) / kTransposedColumns,
                     of_plane = along * ((planes.rows + kTransposedRows<T> - 1) / kTransposedRows<T>);
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const Runs at(planes.space, tile / of_plane, tile / of_plane + 1);
    const std::int64_t row = tile % of_plane / along * kTransposedRows<T>,
                       column = tile % along * kTransposedColumns;
    const std::int64_t rows = HWY_MIN(kTransposedRows<T>, planes.rows - row),
                       columns = HWY_MIN(kTransposedColumns, planes.columns - column);
    const auto address = [&](std::size_t j) HWY_ATTR {
      return operands.view(j).template as<T>() + at.offset[j] + row * planes.row_step[j] +
             column * planes.column_step[j];
    };
    const T* in[] = {address(k + 1)...};
    std::int64_t row_step[] = {planes.row_step[k + 1]...};
    for (std::size_t j = 0; j < sizeof...(k); ++j) {
      if (planes.column_step[j + 1] == 0 || planes.column_step[j + 1] == 1) continue;
      transpose_rows(reinterpret_cast<Stored<T>*>(buffer[j]), kTransposedColumns,
                     reinterpret_cast<const Stored<T>*>(in[j]), planes.column_step[j + 1], columns, rows);
      in[j] = buffer[j];
      row_step[j] = kTransposedColumns;
    }
    T* out = address(0);
    for (std::int64_t i = 0; i < rows; ++i, out += planes.row_step[0]) {
      const T* from[] = {in[k] + i * row_step[k]...};
      for (std::size_t j = 0; j < sizeof...(k); ++j) {
        if (step[j] != 0) continue;
        splat_lanes(buffer[j], *from[j]);
        from[j] = buffer[j];
      }
      process(op, out, from, step, columns, indices);
    }
  }
}

// Blocks in buffers of the compute type, for any strides and dtypes.
template <class Op, std::size_t... k>
HWY_NOINLINE void process_integers(const Op& op, std::int64_t* out, const std::int64_t* const* in,
                                   std::int64_t n, std::index_sequence<k...>) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = op.integers(in[k][i]...);
}

template <class C, class Op, std::size_t... k>
void process_blocks(const Op& op, const Operands& operands, std::int64_t begin, std::int64_t end,
                    std::index_sequence<k...> indices) {
  C buffer[sizeof...(k) + 1][kBlock];
  const C* const in[] = {buffer[k + 1]...};
  [[maybe_unused]] const std::int64_t step[] = {(static_cast<void>(k), 1)...};
  const Dtype type = operands.type();
  for (std::size_t j = 1; j <= sizeof...(k); ++j)
    if (operands.space.all_zero(static_cast<int>(j)))
      gather(buffer[j], operands.view(j).data, operands.view(j).type(), 0, type, kBlock);
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t n = HWY_MIN(kBlock, end - at);
    for (std::size_t j = 1; j <= sizeof...(k); ++j) {
      if (operands.space.all_zero(static_cast<int>(j))) continue;
      move_in(buffer[j], operands.space, j, at, at + n, operands.view(j).data, operands.view(j).type(), type);
    }
    if constexpr (std::is_same_v<C, std::int64_t>)
      process_integers(op, buffer[0], in, n, indices);
    else
      process(op, buffer[0], in, step, n, indices);
    move_out(buffer[0], operands.space, 0, at, at + n, operands.view(0).data, type);
  }
}

template <class T, class Op, std::size_t... k>
void process_space(const Op& op, const Operands& operands, std::index_sequence<k...> indices) {
  const Space& space = operands.space;
  const bool one_type = ((operands.view(k + 1).type() == operands.type()) && ...);
  bool rows = one_type && space.rank > 0 && space.stride[0][0] == 1 && space.size[0] >= kLanes<Compute<T>>;
  ((rows = rows && (space.stride[k + 1][0] == 0 || space.stride[k + 1][0] == 1)), ...);
  std::optional<Folded> folded;
  if (one_type && space.rank > 1 && space.size[0] < kShortRow) folded = fold(space, kLongestPeriod);
  const std::size_t transposed = !folded && !rows && one_type && space.rank > 1 && space.stride[0][0] == 1
                                     ? transposed_dimension(space)
                                     : 0;
  if (transposed != 0 && HWY_MIN(space.size[0], space.size[transposed]) >= kLanes<Compute<T>>) {
    const Planes planes(space, transposed);
    const auto tiles = [](std::int64_t n, std::int64_t side) { return (n + side - 1) / side; };
    return parallel_for(planes.space.count * tiles(planes.rows, kTransposedRows<T>) *
                            tiles(planes.columns, kTransposedColumns),
                        kElementwiseGrain / (kTransposedRows<T> * kTransposedColumns),
                        [&](std::int64_t begin, std::int64_t end)
                            HWY_ATTR { process_tiles<T>(op, operands, planes, begin, end, indices); });
  }
  parallel_for(space.count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    if (folded)
      process_folded<T>(op, operands, *folded, begin, end, indices);
    else if (rows)
      process_rows<T>(op, operands, begin, end, indices);
    else
      process_blocks<Compute<T>>(op, operands, begin, end, indices);
  });
}

template <class Op, class... Inputs>
void elementwise(const Op& op, const View& out, const Inputs&... inputs) {
  static_assert(sizeof...(inputs) < kMaxOperands);
  const View* const views[] = {&out, &inputs...};
  const Space space = make_space(views, static_cast<int>(sizeof...(inputs)) + 1);
  const Operands operands{space, views};
  if constexpr (requires { op.integers((static_cast<void>(inputs), std::int64_t{})...); })
    if (!is_float(out.type()))
      return parallel_for(space.count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
        process_blocks<std::int64_t>(op, operands, begin, end, std::index_sequence_for<Inputs...>());
      });
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, process_space<T>(op, operands, std::index_sequence_for<Inputs...>()));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
