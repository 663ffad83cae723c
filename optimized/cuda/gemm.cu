// Which kernel makes a product, and how blocks share it.
//
// The idea: the output's dense direction is that of the columns, for which a and b change places where needed. Large
// products take large tiles; where there are few tiles, blocks share the terms of each, in whole chunks whose sums a
// second pass adds in order. The sums are the same bits whatever is chosen (gemm.h).
#include "gemm.h"

#include <algorithm>
#include <utility>

#include "gemm_tensor.h"
#include "gemm_tile.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Blocks that keep a GPU of 132 multiprocessors busy.
inline constexpr std::int64_t kGemmBlocks = 2 * 132;
inline constexpr std::int64_t kGemmRowsAtMost = 8;  // of skinny products

template <class C>
C gemm_factor(Scalar s) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(s.integer);
  else
    return static_cast<C>(s.real);
}

template <class T>
struct GemmCall {
  GemmSizes sizes;
  GemmSource a, b;
  GemmSink<T> sink;

  // Calls run(grid, blocks, sums) and adds up what blocks that share sums left.
  template <class Tile, class Run>
  void in_tiles(Run&& run) const {
    const auto tiles_of = [](std::int64_t n, int tile) { return (n + tile - 1) / tile; };
    const std::int64_t row_tiles = tiles_of(sizes.rows, Tile::tile_rows);
    const std::int64_t column_tiles = tiles_of(sizes.columns, Tile::tile_columns);
    const std::int64_t chunk = gemm_chunk(sizes.depth), chunks = (sizes.depth + chunk - 1) / chunk;
    const std::int64_t tiles = row_tiles * column_tiles * sizes.batches;
    std::int64_t slices = !Tile::shares_sums || tiles >= kGemmBlocks
                              ? 1
                              : std::min(chunks, kGemmBlocks / std::max<std::int64_t>(tiles, 1));
    const std::int64_t chunks_each = (chunks + slices - 1) / slices;
    slices = (chunks + chunks_each - 1) / chunks_each;
    if (tiles * slices > 0x7fffffff) throw Refused("products of more than 2^31 tiles are not supported");
    const GemmGrid grid{sizes.rows,
                        sizes.columns,
                        sizes.depth,
                        static_cast<std::uint32_t>(row_tiles),
                        static_cast<std::uint32_t>(column_tiles),
                        static_cast<std::uint32_t>(slices),
                        chunks_each * chunk,
                        chunk};
    const dim3 blocks(static_cast<unsigned>(tiles * slices));
    const std::int64_t results = sizes.batches * sizes.rows * sizes.columns;
    Scratch<GemmSum<T>> sums(slices == 1 ? 0 : results * chunks);
    run(grid, blocks, slices == 1 ? nullptr : sums.data());
    if (slices != 1)
      launch<gemm_chunks_kernel<T>>(blocks_for(results, 256), 256, 0, sums.data(), chunks, sizes.batches,
                                    sizes.rows, sizes.columns, sink);
  }

  template <class Tile>
  void on_cores() const {
    in_tiles<Tile>([&](const GemmGrid& grid, dim3 blocks, GemmSum<T>* sums) {
      launch<gemm_tile_kernel<T, Tile>>(blocks, Tile::threads, 0, a, b, grid, sink, sums);
    });
  }
  template <class Tile, TensorWay way_of_a, TensorWay way_of_b>
  void on_tensor_cores() const {
    constexpr std::size_t bytes = kStages * sizeof(T) *
                                  (TensorStage<T, way_of_a, Tile::tile_rows, Tile::threads>::size +
                                   TensorStage<T, way_of_b, Tile::tile_columns, Tile::threads>::size);
    in_tiles<Tile>([&](const GemmGrid& grid, dim3 blocks, float* sums) {
      launch<gemm_tensor_kernel<T, Tile, way_of_a, way_of_b>>(blocks, Tile::threads, bytes, a, b, grid, sink,
                                                              sums);
    });
  }
  // In tiles for operands that are copied, or for those of which one is read element by element, which takes registers.
  template <class Copied, class Read>
  void on_tensor_cores() const {
    using enum TensorWay;
    if (!a.vectors || !b.vectors) return on_tensor_cores<Read, element_by_element, element_by_element>();
    if (a.k_fast)
      return b.k_fast ? on_tensor_cores<Copied, copied_along_k, copied_along_k>()
                      : on_tensor_cores<Copied, copied_along_k, copied_across_k>();
    return b.k_fast ? on_tensor_cores<Copied, copied_across_k, copied_along_k>()
                    : on_tensor_cores<Copied, copied_across_k, copied_across_k>();
  }

  void run() const {
    // Tiles of 128 rows, and so many columns.
    [[maybe_unused]] const auto tiles = [&](std::int64_t columns) {
      return (sizes.rows + 127) / 128 * ((sizes.columns + columns - 1) / columns) * sizes.batches;
    };
    if constexpr (is_half<T>) {
      using Small = TensorTile<32, 64, 32, 16>;
      using Middle = TensorTile<128, 64, 32, 32>;
      using Large = TensorTile<128, 128, 64, 32>;
      using Read = TensorTile<128, 64, 64, 32>;
      const bool high = sizes.rows > 32;
      if (high && tiles(128) >= kGemmBlocks / 2) return on_tensor_cores<Large, Read>();
      if (high && tiles(64) >= kGemmBlocks / 2) return on_tensor_cores<Middle, Read>();
      return on_tensor_cores<Small, Small>();
    } else if constexpr (is_integer<T>) {
      return on_cores<GemmTile<64, 64, 4, 4>>();
    } else {
      if (sizes.rows <= kGemmRowsAtMost) return on_cores<GemmTile<8, 128, 8, 1>>();
      if constexpr (std::is_same_v<T, float>)
        if (tiles(64) >= kGemmBlocks) return on_cores<GemmTile<128, 64, 8, 4, 16, false>>();
      return on_cores<GemmTile<64, 64, 4, 4>>();
    }
  }
};

template <class T>
void gemm_as(const GemmSizes& sizes, const GemmOperand& a, const GemmOperand& b, const GemmResult& out) {
  using C = GemmSum<T>;
  const GemmSink<T> sink{
      static_cast<T*>(out.data), out.row_stride,           out.column_stride,
      out.batch_stride,          out.column_offsets,       static_cast<const T*>(out.addend),
      out.addend_row_stride,     out.addend_column_stride, out.addend_batch_stride,
      gemm_factor<C>(out.alpha), gemm_factor<C>(out.beta)};
  if (sizes.depth == 0) {
    const std::int64_t results = sizes.batches * sizes.rows * sizes.columns;
    return launch<gemm_chunks_kernel<T>>(blocks_for(results, 256), 256, 0, nullptr, 0, sizes.batches,
                                         sizes.rows, sizes.columns, sink);
  }
  GemmCall<T>{sizes, gemm_source(a, sizeof(T), sizes.batches), gemm_source(b, sizeof(T), sizes.batches), sink}
      .run();
}

void gemm(Dtype type, const GemmSizes& sizes, const GemmOperand& a, const GemmOperand& b,
          const GemmResult& out) {
  if (sizes.rows == 0 || sizes.columns == 0 || sizes.batches == 0) return;
  // Columns along the output's dense direction, and the shorter side of skinny products in rows.
  const bool dense_rows = out.column_stride != 1 && out.row_stride == 1;
  const bool skinny = sizes.columns <= kGemmRowsAtMost && sizes.rows > kGemmRowsAtMost;
  if (out.column_offsets == nullptr && (skinny || (dense_rows && sizes.rows > kGemmRowsAtMost))) {
    GemmResult turned = out;
    std::swap(turned.row_stride, turned.column_stride);
    std::swap(turned.addend_row_stride, turned.addend_column_stride);
    const GemmSizes turned_sizes{sizes.columns, sizes.rows, sizes.depth, sizes.batches};
    if (is_float(type))
      return with_floating_point(type, [&](auto x) { gemm_as<decltype(x)>(turned_sizes, b, a, turned); });
    return with_integer(
        type, [&](auto x) { gemm_as<std::make_unsigned_t<decltype(x)>>(turned_sizes, b, a, turned); });
  }
  if (is_float(type))
    return with_floating_point(type, [&](auto x) { gemm_as<decltype(x)>(sizes, a, b, out); });
  with_integer(type, [&](auto x) { gemm_as<std::make_unsigned_t<decltype(x)>>(sizes, a, b, out); });
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
