// A copy into any layout of memory.
//
// The idea: dimensions are put into the order of the output's memory and joined (space.h). If both sides then have
// stride 1 in the innermost one, its rows are copied a vector at a time. Otherwise the input's rows go along another
// dimension: the two dimensions are walked together in tiles of kTile x kTile elements, so that each line of either
// side's memory that a tile touches is used in whole while it is in the first-level cache; where both sides are dense,
// through registers (transpose.h). Elements are moved as bits, so there is no error, and the dtype matters by its size
// alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/clone.cpp"
#include "levels.h"

#include "../geometry/space.h"
#include "copy.h"
#include "ops/clone.h"
#include "parallel.h"
#include "transpose.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kTile = 64;  // elements: two tiles of the widest ones fill a first-level cache
constexpr std::int64_t kGrain = 32768;

// The dimension along which the input's elements are nearest to each other: 0 if that is the output's, too.
int nearest(const Space& space) {
  int best = 0;
  for (int d = 1; d < space.rank; ++d) {
    const auto stride = [&](int k) { return space.stride[1][static_cast<std::size_t>(k)]; };
    if (stride(d) != 0 && (stride(best) == 0 || stride(d) < stride(best))) best = d;
  }
  return space.stride[1][0] == 0 ? 0 : best;
}

template <class T>
HWY_NOINLINE void copy_rows(const View& self, View& out, const Space& space, std::int64_t begin,
                            std::int64_t end) {
  const std::int64_t to_step = space.rank == 0 ? 1 : space.stride[0][0];
  const std::int64_t from_step = space.rank == 0 ? 1 : space.stride[1][0];
  for (Runs run(space, begin, end); !run.done(); run.next())
    copy_row(out.as<T>() + run.offset[0], to_step, self.as<const T>() + run.offset[1], from_step, run.length);
}

// A plane of `rows` by `columns`: rows are the input's near dimension, columns the output's.
template <class T>
HWY_NOINLINE void copy_plane(T* to, const T* from, const Planes& steps, std::int64_t rows,
                             std::int64_t columns) {
  const std::int64_t to_step[] = {steps.row_step[0], steps.column_step[0]};
  const std::int64_t from_step[] = {steps.row_step[1], steps.column_step[1]};
  for (std::int64_t r = 0; r < rows; r += kTile)
    for (std::int64_t c = 0; c < columns; c += kTile) {
      const std::int64_t last_row = HWY_MIN(rows, r + kTile), last_column = HWY_MIN(columns, c + kTile);
      if (to_step[1] == 1 && from_step[0] == 1) {
        transpose_rows(to + r * to_step[0] + c, to_step[0], from + r + c * from_step[1], from_step[1],
                       last_column - c, last_row - r);
        continue;
      }
      for (std::int64_t i = r; i < last_row; ++i)
        for (std::int64_t j = c; j < last_column; ++j)
          to[i * to_step[0] + j * to_step[1]] = from[i * from_step[0] + j * from_step[1]];
    }
}

template <class T>
HWY_NOINLINE void copy_planes(const View& self, View& out, const Planes& planes, std::int64_t begin,
                              std::int64_t end) {
  // A plane may be large and alone: threads share the columns of all planes, a tile at a time.
  const std::int64_t strips = (planes.columns + kTile - 1) / kTile;
  for (std::int64_t i = begin; i < end; ++i) {
    const Runs at(planes.space, i / strips, i / strips + 1);
    const std::int64_t column = i % strips * kTile;
    copy_plane(out.as<T>() + at.offset[0] + column * planes.column_step[0],
               self.as<const T>() + at.offset[1] + column * planes.column_step[1], planes, planes.rows,
               HWY_MIN(kTile, planes.columns - column));
  }
}

template <class T>
void copy(const View& self, View& out) {
  const View* const views[] = {&out, &self};
  const Space space = make_space(views, 2);
  if (space.count == 0) return;
  const int near = nearest(space);
  if (near == 0)
    return parallel_for(space.count, kGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      copy_rows<T>(self, out, space, begin, end);
    });
  const Planes planes(space, static_cast<std::size_t>(near));
  const std::int64_t strips = (planes.columns + kTile - 1) / kTile;
  parallel_for(planes.space.count * strips, 1 + kGrain / (planes.rows * kTile),
               [&](std::int64_t begin, std::int64_t end)
                   HWY_ATTR { copy_planes<T>(self, out, planes, begin, end); });
}

void run(const View& self, std::optional<MemoryFormat>, View& out) {
  switch (out.dtype.bits) {
    case 64:
      return copy<std::uint64_t>(self, out);
    case 32:
      return copy<std::uint32_t>(self, out);
    case 16:
      return copy<std::uint16_t>(self, out);
    default:
      return copy<std::uint8_t>(self, out);
  }
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::clone, run, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
