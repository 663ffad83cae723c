// The driver of element-wise operators.
//
// The idea: dimensions are put into the order of the output's memory and joined (space.h). If what remains of
// the innermost one is long, and every operand has the output's dtype and stride 1 or 0 there, rows are
// processed in place in memory; rows that are short are first joined, if the inputs that prevented it repeat
// (the bias of [rows, 3]). If inputs have stride 1 in another dimension (channels first from channels last),
// tiles of the two dimensions are transposed into a buffer, and the rows of a tile processed. Otherwise blocks
// of elements are gathered into buffers of the compute type, processed by the same code and scattered. Either
// way each element meets the same conversions and the same operations, so its bits depend neither on the
// layout nor on its position, nor on the number of threads.
//
// Elements are moved as bits, so that there is one driver for each size of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise.cpp"
#include "levels.h"

#include <optional>

#include "elementwise.h"
#include "parallel.h"
#include "runs.h"
#include "transpose.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

// Elements of a block, and the least work that is worth another thread.
constexpr std::int64_t kBlock = 512;
// Rows shorter than this are joined if the inputs repeat from row to row.
constexpr std::int64_t kShortRow = 256;
constexpr std::int64_t kLongestPeriod = 512;
constexpr std::int64_t kElementwiseGrain = 32768;
// A tile that is transposed: a cache line of each of its columns.
constexpr std::int64_t kTransposedColumns = 128;
template <class Bits>
constexpr std::int64_t kTransposedRows = 64 / sizeof(Bits);
constexpr std::size_t kMaxInputs = kMaxOperands - 1;

// Of a vector of the compute type of elements of this size: halves are computed in f32.
template <class Bits>
constexpr std::int64_t kVector = HWY_MAX_BYTES / HWY_MAX(sizeof(Bits), sizeof(float));

// A vector of equal elements, stored as whole vectors: loading one of these from smaller stores would have to wait for them.
template <class Bits>
HWY_INLINE void splat_lanes(Bits* to, Bits value) {
  const hn::CappedTag<Bits, static_cast<std::size_t>(kVector<Bits>)> d;
  const auto v = hn::Set(d, value);
  for (std::int64_t i = 0; i < kVector<Bits>; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::StoreU(v, d, to + i);
}

// What a driver works on. Operand 0 is the output.
struct Operands {
  const Space& space;
  const View* const* views;
  std::size_t inputs;
  ElementwiseLoop* loop;  // over elements as they lie in memory
  const void* op;
  Dtype computed_in;  // what inputs are converted to: the output's, unless that is of truths

  const View& view(std::size_t i) const { return *views[i]; }
  Dtype type() const { return computed_in; }
  template <class Bits>
  Bits* address(std::size_t i, std::int64_t offset) const {
    return static_cast<Bits*>(views[i]->data) + offset;
  }
  void process(void* out, const void* const* in, const std::int64_t* step, std::int64_t n) const {
    loop(op, out, in, step, n);
  }
};

// Rows in place in memory. Preconditions: every operand has the output's dtype, and stride 1 in dimension 0
// or, if it is an input, 0.
template <class Bits, class OutBits = Bits>
void process_rows(const Operands& operands, std::int64_t begin, std::int64_t end) {
  Bits splat[kMaxInputs][kVector<Bits>];
  std::int64_t step[kMaxInputs];
  for (std::size_t j = 0; j < operands.inputs; ++j) step[j] = operands.space.step(j + 1);
  for (Runs run(operands.space, begin, end); !run.done(); run.next()) {
    const void* in[kMaxInputs];
    for (std::size_t j = 0; j < operands.inputs; ++j) {
      const Bits* const from = operands.address<const Bits>(j + 1, run.offset[j + 1]);
      in[j] = from;
      if (step[j] != 0) continue;
      splat_lanes(splat[j], *from);
      in[j] = splat[j];
    }
    operands.process(operands.address<OutBits>(0, run.offset[0]), in, step, run.length);
  }
}

// The first `period` elements of an operand in a space, and again until `n` are there.
template <class Bits>
void repeat(Bits* to, std::int64_t n, const Bits* from, const Space& space, std::size_t operand,
            std::int64_t period) {
  for (Runs run(space, 0, period); !run.done(); run.next())
    for (std::int64_t i = 0; i < run.length; ++i)
      *to++ = from[run.offset[operand] + i * space.stride[operand][0]];
  for (std::int64_t i = period; i < n; ++i, ++to) *to = to[-period];
}

// Rows in place in memory, with inputs that repeat within a row taken from a buffer that holds the
// repetition. Preconditions as above, but that inputs that repeat may have any strides within their period.
template <class Bits>
void process_folded(const Operands& operands, const Folded& folded, std::int64_t begin, std::int64_t end) {
  Bits buffer[kMaxInputs][kBlock + kLongestPeriod];
  std::int64_t filled[kMaxInputs], step[kMaxInputs];  // the offset whose elements the buffer holds
  for (std::size_t j = 0; j < operands.inputs; ++j) {
    filled[j] = -1;
    step[j] = folded.repeats[j + 1] ? 1 : folded.space.stride[j + 1][0];
  }
  for (Runs run(folded.space, begin, end); !run.done(); run.next()) {
    for (std::size_t j = 0; j < operands.inputs; ++j) {
      const std::int64_t offset = run.offset[j + 1];
      if (step[j] != 0 && !folded.repeats[j + 1]) continue;
      if (filled[j] == offset) continue;
      filled[j] = offset;
      const Bits* from = operands.address<const Bits>(j + 1, offset);
      if (step[j] == 0)
        splat_lanes(buffer[j], *from);
      else
        repeat(buffer[j], kBlock + folded.period, from, operands.space, j + 1, folded.period);
    }
    for (std::int64_t i = 0; i < run.length; i += kBlock) {
      const void* in[kMaxInputs];
      for (std::size_t j = 0; j < operands.inputs; ++j)
        in[j] = folded.repeats[j + 1] ? buffer[j] + (run.start() + i) % folded.period
                : step[j] == 0        ? buffer[j]
                                      : operands.address<const Bits>(j + 1, run.offset[j + 1] + i);
      operands.process(operands.address<Bits>(0, run.offset[0] + i), in, step,
                       HWY_MIN(kBlock, run.length - i));
    }
  }
}

// The dimension, if any, in which every input has stride 1 that has neither 1 nor 0 in dimension 0; 0 for none.
std::size_t transposed_dimension(const Space& space) {
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
template <class Bits>
void process_tiles(const Operands& operands, const Planes& planes, std::int64_t begin, std::int64_t end) {
  Bits buffer[kMaxInputs][kTransposedRows<Bits> * kTransposedColumns];  // a tile, or equal elements
  const std::int64_t along = (planes.columns + kTransposedColumns - 1) / kTransposedColumns,
                     of_plane = along * ((planes.rows + kTransposedRows<Bits> - 1) / kTransposedRows<Bits>);
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const Runs at(planes.space, tile / of_plane, tile / of_plane + 1);
    const std::int64_t row = tile % of_plane / along * kTransposedRows<Bits>,
                       column = tile % along * kTransposedColumns;
    const std::int64_t rows = HWY_MIN(kTransposedRows<Bits>, planes.rows - row),
                       columns = HWY_MIN(kTransposedColumns, planes.columns - column);
    const auto offset = [&](std::size_t j) HWY_ATTR {
      return at.offset[j] + row * planes.row_step[j] + column * planes.column_step[j];
    };
    const Bits* in[kMaxInputs];
    std::int64_t row_step[kMaxInputs], step[kMaxInputs];
    for (std::size_t j = 0; j < operands.inputs; ++j) {
      in[j] = operands.address<const Bits>(j + 1, offset(j + 1));
      row_step[j] = planes.row_step[j + 1];
      step[j] = planes.column_step[j + 1] == 0 ? 0 : 1;
      if (planes.column_step[j + 1] == 0 || planes.column_step[j + 1] == 1) continue;
      transpose_rows(buffer[j], kTransposedColumns, in[j], planes.column_step[j + 1], columns, rows);
      in[j] = buffer[j];
      row_step[j] = kTransposedColumns;
    }
    Bits* out = operands.address<Bits>(0, offset(0));
    for (std::int64_t i = 0; i < rows; ++i, out += planes.row_step[0]) {
      const void* from[kMaxInputs];
      for (std::size_t j = 0; j < operands.inputs; ++j) {
        from[j] = in[j] + i * row_step[j];
        if (step[j] != 0) continue;
        splat_lanes(buffer[j], in[j][i * row_step[j]]);
        from[j] = buffer[j];
      }
      operands.process(out, from, step, columns);
    }
  }
}

void move_bytes_out(const std::uint8_t* from, const Operands& operands, std::int64_t begin,
                    std::int64_t end) {
  const std::int64_t step = operands.space.step(0);
  for (Runs run(operands.space, begin, end); !run.done(); from += run.length, run.next()) {
    std::uint8_t* const to = operands.address<std::uint8_t>(0, run.offset[0]);
    for (std::int64_t i = 0; i < run.length; ++i) to[i * step] = from[i];
  }
}

// Blocks in buffers of the compute type, whose loop `operands` has, for any strides and dtypes. It fills buffers of Out.
template <class C, class Out = C>
void process_blocks(const Operands& operands, std::int64_t begin, std::int64_t end) {
  C buffer[kMaxInputs][kBlock];
  Out results[kBlock];
  const void* in[kMaxInputs];
  std::int64_t step[kMaxInputs];
  const Dtype type = operands.type();
  for (std::size_t j = 1; j <= operands.inputs; ++j) {
    in[j - 1] = buffer[j - 1];
    step[j - 1] = 1;
    if (operands.space.all_zero(static_cast<int>(j)))
      gather(buffer[j - 1], operands.view(j).data, operands.view(j).type(), 0, type, kBlock);
  }
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t n = HWY_MIN(kBlock, end - at);
    for (std::size_t j = 1; j <= operands.inputs; ++j) {
      if (operands.space.all_zero(static_cast<int>(j))) continue;
      move_in(buffer[j - 1], operands.space, j, at, at + n, operands.view(j).data, operands.view(j).type(), type);
    }
    operands.process(results, in, step, n);
    if constexpr (std::is_same_v<Out, C>)
      move_out(results, operands.space, 0, at, at + n, operands.view(0).data, operands.view(0).type());
    else
      move_bytes_out(results, operands, at, at + n);
  }
}

// A loop over f16 or bf16 that is one over f32, for blocks that are converted.
struct Converted {
  ElementwiseLoop* loop;
  const void* op;
  std::size_t inputs;
};

template <class Half>
void process_converted(const void* given, void* out, const void* const* in, const std::int64_t* step,
                       std::int64_t n) {
  const Converted& f32 = *static_cast<const Converted*>(given);
  const hn::ScalableTag<float> d;
  constexpr std::int64_t lanes = kLanes<float>;
  HWY_ALIGN float buffer[kMaxOperands][kBlock];
  const void* from[kMaxInputs];
  const auto widen = [&](float* to, const Half* halves, std::int64_t count) HWY_ATTR {
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::Store(load(d, halves + i), d, to + i);
    if (i < count) hn::Store(load_n(d, halves + i, count - i), d, to + i);
  };
  for (std::size_t j = 0; j < f32.inputs; ++j) {
    from[j] = buffer[j + 1];
    if (step[j] == 0) widen(buffer[j + 1], static_cast<const Half*>(in[j]), lanes);
  }
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t count = HWY_MIN(kBlock, n - i);
    for (std::size_t j = 0; j < f32.inputs; ++j)
      if (step[j] != 0) widen(buffer[j + 1], static_cast<const Half*>(in[j]) + i, count);
    f32.loop(f32.op, buffer[0], from, step, count);
    Half* const to = static_cast<Half*>(out) + i;
    std::int64_t k = 0;
    for (; k + lanes <= count; k += lanes) store(hn::Load(d, buffer[0] + k), d, to + k);
    if (k < count) store_n(hn::Load(d, buffer[0] + k), d, to + k, count - k);
  }
}

// `blocks` has the loop over the compute type, which that of `operands` is unless elements are halves.
template <class Bits>
void process_space(const Operands& operands, const Operands& blocks) {
  using C = std::conditional_t<sizeof(Bits) == 8, double, float>;
  const Space& space = operands.space;
  bool one_type = true;
  for (std::size_t j = 1; j <= operands.inputs; ++j)
    one_type = one_type && operands.view(j).type() == operands.type();
  bool rows = one_type && space.rank > 0 && space.stride[0][0] == 1 && space.size[0] >= kVector<Bits>;
  for (std::size_t j = 1; j <= operands.inputs; ++j)
    rows = rows && (space.stride[j][0] == 0 || space.stride[j][0] == 1);
  std::optional<Folded> folded;
  if (one_type && space.rank > 1 && space.size[0] < kShortRow) folded = fold(space, kLongestPeriod);
  const std::size_t transposed = !folded && !rows && one_type && space.rank > 1 && space.stride[0][0] == 1
                                     ? transposed_dimension(space)
                                     : 0;
  if (transposed != 0 && HWY_MIN(space.size[0], space.size[transposed]) >= kVector<Bits>) {
    const Planes planes(space, transposed);
    const auto tiles = [](std::int64_t n, std::int64_t side) { return (n + side - 1) / side; };
    return parallel_for(planes.space.count * tiles(planes.rows, kTransposedRows<Bits>) *
                            tiles(planes.columns, kTransposedColumns),
                        kElementwiseGrain / (kTransposedRows<Bits> * kTransposedColumns),
                        [&](std::int64_t begin, std::int64_t end)
                            HWY_ATTR { process_tiles<Bits>(operands, planes, begin, end); });
  }
  parallel_for(space.count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    if (folded)
      process_folded<Bits>(operands, *folded, begin, end);
    else if (rows)
      process_rows<Bits>(operands, begin, end);
    else
      process_blocks<C>(blocks, begin, end);
  });
}

template <class Half>
void process_halves(const Operands& f32, ElementwiseLoop* own) {
  if (own != nullptr)
    return process_space<std::uint16_t>({f32.space, f32.views, f32.inputs, own, f32.op, f32.type()}, f32);
  const Converted converted{f32.loop, f32.op, f32.inputs};
  process_space<std::uint16_t>(
      {f32.space, f32.views, f32.inputs, process_converted<Half>, &converted, f32.type()}, f32);
}

// Results of bool: rows in place in memory, or blocks.
template <class Bits>
void process_truths_of(const Operands& operands, const Operands& blocks) {
  using C = std::conditional_t<sizeof(Bits) == 8, double, float>;
  const Space& space = operands.space;
  bool rows = space.rank > 0 && space.stride[0][0] == 1 && space.size[0] >= kVector<Bits>;
  for (std::size_t j = 1; j <= operands.inputs; ++j)
    rows = rows && operands.view(j).type() == operands.type() &&
           (space.stride[j][0] == 0 || space.stride[j][0] == 1);
  parallel_for(space.count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    if (rows)
      process_rows<Bits, std::uint8_t>(operands, begin, end);
    else
      process_blocks<C, std::uint8_t>(blocks, begin, end);
  });
}

}  // namespace

void elementwise(const ElementwiseLoops& loops, const void* op, const View* const* views,
                 std::size_t inputs) {
  const Space space = make_space(views, static_cast<int>(inputs) + 1);
  const Dtype type = loops.truths ? promoted(views + 1, inputs) : views[0]->type();
  const auto with = [&](ElementwiseLoop* loop) { return Operands{space, views, inputs, loop, op, type}; };
  if (is_float(type) && loops.f32 == nullptr) throw Refused("only integers are supported");
  if (loops.truths && is_float(type)) {
    const Operands in_f32 = with(loops.f32);
    if (type == Dtype::f64) return process_truths_of<std::uint64_t>(with(loops.f64), with(loops.f64));
    if (type == Dtype::f32) return process_truths_of<std::uint32_t>(in_f32, in_f32);
    return process_truths_of<std::uint16_t>(with(type == Dtype::f16 ? loops.f16 : loops.bf16), in_f32);
  }
  switch (type) {
    case Dtype::f64:
      return process_space<std::uint64_t>(with(loops.f64), with(loops.f64));
    case Dtype::f32:
      return process_space<std::uint32_t>(with(loops.f32), with(loops.f32));
    case Dtype::f16:
      return process_halves<F16>(with(loops.f32), loops.f16);
    case Dtype::bf16:
      return process_halves<BF16>(with(loops.f32), loops.bf16);
    default:
      if (loops.i64 == nullptr) throw Refused("only f64, f32, f16 and bf16 are supported");
      return parallel_for(space.count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
        process_blocks<std::int64_t>(with(loops.i64), begin, end);
      });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
