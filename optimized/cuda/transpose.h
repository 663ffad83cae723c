// Copies between layouts of which one is the other transposed.
//
// The idea: the input's elements are neighbours along the rows of a plane, the output's along its columns. A
// block takes a tile of the plane through shared memory: warps read along the input's memory and write along
// the output's. A tile is 32 by 32, or longer where the plane is thin, as with three channels. Elements of
// one or two bytes are moved in packs of four bytes where sizes and strides are whole packs: a thread then
// turns a square of as many packs in its registers.
#pragma once

#include "call.h"
#include "space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kTransposeThreads = 256;
inline constexpr int kTransposeTile = 1024;  // squares
// Packs of shared memory, for each of a square's columns: beside a tile of 2 by 512 half as many lie unused.
inline constexpr int kTransposeShared = kTransposeTile + kTransposeTile / 2;

// A tile's sides are powers of 2.
struct TransposeTile {
  std::int32_t row_bits, column_bits;
  // From one column to the next in shared memory: such that a warp that goes along a row meets all banks,
  // too.
  std::int32_t pitch;

  TransposeTile(std::int64_t rows, std::int64_t columns) {
    const auto bits = [](std::int64_t n, std::int32_t most) {
      std::int32_t b = 0;
      while (b < most && std::int64_t{1} << b < n) ++b;
      return b;
    };
    column_bits = bits(columns, 10 - bits(rows, 5));
    row_bits = bits(rows, 10 - column_bits);
    pitch = (1 << row_bits) + (row_bits == 0 ? 0 : column_bits < 5 ? kWarpSize >> column_bits : 1);
  }
};

// Sizes in squares, strides in elements.
struct TransposePlane {
  std::int64_t rows, columns;
  std::int64_t tiles_down, tiles_across, tiles;  // tiles of all planes
  std::int64_t to_row, to_column, from_row, from_column;
};

// Reads a tile. Square (0, 0) of it is that of row and column of the plane at `in`.
template <class T, int pack>
__device__ __forceinline__ void read_tile(Vector<T, pack>* shared, const T* in, const TransposePlane& plane,
                                          const TransposeTile& tile, std::int64_t row, std::int64_t column) {
  constexpr int together = kTransposeTile / kTransposeThreads;  // are on their way at once
  const int rows = 1 << tile.row_bits, columns = pack << tile.column_bits;
  const std::int64_t rows_left = plane.rows - row, columns_left = (plane.columns - column) * pack;
  in += row * pack * plane.from_row + column * pack * plane.from_column;
  for (int first = static_cast<int>(threadIdx.x); first < rows * columns; first += kTransposeTile) {
    Vector<T, pack> read[together];
    bool is_there[together];
    ASSAY_UNROLL
    for (int j = 0; j < together; ++j) {
      const int i = first + j * kTransposeThreads, r = i & (rows - 1), c = i >> tile.row_bits;
      is_there[j] = c < columns && r < rows_left && c < columns_left;
      if (is_there[j]) read[j] = load_vector<T, pack>(in + r * pack * plane.from_row + c * plane.from_column);
    }
    ASSAY_UNROLL
    for (int j = 0; j < together; ++j) {
      const int i = first + j * kTransposeThreads, r = i & (rows - 1), c = i >> tile.row_bits;
      if (is_there[j]) shared[c * tile.pitch + r] = read[j];
    }
  }
}

template <class T, int pack>
__device__ __forceinline__ void write_tile(T* out, const Vector<T, pack>* shared, const TransposePlane& plane,
                                           const TransposeTile& tile, std::int64_t row, std::int64_t column) {
  ASSAY_UNROLL
  for (int j = 0; j < kTransposeTile / kTransposeThreads; ++j) {
    const int i = static_cast<int>(threadIdx.x) + j * kTransposeThreads;
    const int c = i & ((1 << tile.column_bits) - 1), r = i >> tile.column_bits;
    if (r >= 1 << tile.row_bits || row + r >= plane.rows || column + c >= plane.columns) continue;
    Vector<T, pack> turned[pack];
    ASSAY_UNROLL
    for (int k = 0; k < pack; ++k) {
      const Vector<T, pack> x = shared[(c * pack + k) * tile.pitch + r];
      ASSAY_UNROLL
      for (int l = 0; l < pack; ++l) turned[l].element[k] = x.element[l];
    }
    T* const to = out + (row + r) * pack * plane.to_row + (column + c) * pack * plane.to_column;
    ASSAY_UNROLL
    for (int l = 0; l < pack; ++l) store_vector(to + l * plane.to_row, turned[l]);
  }
}

// Budget: 32 registers, 1.01 sectors, 1.00 passes.
template <class T, int pack>
__global__ void transpose_kernel(T* out, const T* in, TransposePlane plane, TransposeTile tile,
                                 Space<2> planes) {
  using Pack = Vector<T, pack>;
  ASSAY_SHARED(Pack, shared, [pack * kTransposeShared]);
  for (std::int64_t i = blockIdx.x; i < plane.tiles; i += gridDim.x) {
    std::int64_t offset[2];
    planes.locate(i / (plane.tiles_down * plane.tiles_across), offset);
    const std::int64_t row = i / plane.tiles_across % plane.tiles_down << tile.row_bits,
                       column = i % plane.tiles_across << tile.column_bits;
    read_tile<T, pack>(shared, in + offset[1], plane, tile, row, column);
    __syncthreads();
    write_tile<T, pack>(out + offset[0], shared, plane, tile, row, column);
    __syncthreads();
  }
}

// The dimension along which the input's elements are nearest to each other, if that is another one than the
// output's and planes of the two are worth tiles; else 0. Operand 0 is the output.
inline std::size_t transposed_dimension(const cpu::Space& space) {
  const auto& stride = space.stride[1];
  if (space.rank == 0 || stride[0] == 0) return 0;
  std::size_t best = 0;
  for (std::size_t d = 1; d < static_cast<std::size_t>(space.rank); ++d)
    if (stride[d] != 0 && stride[d] < stride[best]) best = d;
  constexpr std::int64_t least = kTransposeTile / 4;
  return space.size[best] * space.size[0] >= least ? best : 0;
}

template <class T, int pack>
void copy_planes(const cpu::Planes& given, const View& in, View& out) {
  const TransposeTile tile(given.rows / pack, given.columns / pack);
  TransposePlane plane{
      given.rows / pack, given.columns / pack, 0, 0, 0, given.row_step[0], given.column_step[0],
      given.row_step[1], given.column_step[1]};
  const auto tiles = [](std::int64_t n, std::int32_t bits) { return ((n - 1) >> bits) + 1; };
  plane.tiles_down = tiles(plane.rows, tile.row_bits);
  plane.tiles_across = tiles(plane.columns, tile.column_bits);
  plane.tiles = plane.tiles_down * plane.tiles_across * given.space.count;
  launch<transpose_kernel<T, pack>>(blocks_for(plane.tiles, 1), kTransposeThreads, 0, out.as<T>(),
                                    in.as<const T>(), plane, tile, Space<2>(given.space));
}

// Whether a plane is whole squares of `pack` elements, at multiples of it in both tensors.
inline bool in_packs(const cpu::Planes& planes, const View& in, const View& out, int pack) {
  const auto packs = [&](const View& view, std::size_t k, std::int64_t near, std::int64_t far) {
    const auto width = static_cast<std::uintptr_t>(pack * view.dtype.bits / 8);
    if (near != 1 || far % pack != 0 || reinterpret_cast<std::uintptr_t>(view.data) % width != 0)
      return false;
    for (std::size_t d = 0; d < static_cast<std::size_t>(planes.space.rank); ++d)
      if (planes.space.stride[k][d] % pack != 0) return false;
    return true;
  };
  return planes.rows % pack == 0 && planes.columns % pack == 0 &&
         packs(out, 0, planes.column_step[0], planes.row_step[0]) &&
         packs(in, 1, planes.row_step[1], planes.column_step[1]);
}

// Copies between two layouts of one space, of which dimension `near` is what transposed_dimension() says.
template <class T>
void copy_transposed(const cpu::Space& space, std::size_t near, const View& in, View& out) {
  const cpu::Planes planes(space, near);
  if constexpr (sizeof(T) < 4) {
    constexpr int pack = 4 / static_cast<int>(sizeof(T));
    if (in_packs(planes, in, out, pack)) return copy_planes<T, pack>(planes, in, out);
  }
  copy_planes<T, 1>(planes, in, out);
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
