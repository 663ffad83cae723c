// The tiles of transposed copies (cuda/transpose.h): whatever the plane, one lies in shared memory, and no
// two of its elements in the same place.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "cuda/transpose.h"

namespace assay {
namespace {

std::vector<std::int64_t> cuda_plane_sides() {
  std::vector<std::int64_t> sides;
  for (std::int64_t n = 1; n < 70; ++n) sides.push_back(n);
  for (const std::int64_t n : {100, 128, 256, 500, 512, 513, 1024, 1025, 5000, 1 << 30}) sides.push_back(n);
  return sides;
}

TEST(CudaTranspose, TilesFitSharedMemory) {
  for (const std::int64_t rows : cuda_plane_sides())
    for (const std::int64_t columns : cuda_plane_sides()) {
      const cuda::TransposeTile tile(rows, columns);
      ASSERT_LE(tile.row_bits + tile.column_bits, 10) << rows << " x " << columns;
      ASSERT_GE(tile.pitch, 1 << tile.row_bits) << rows << " x " << columns;
      for (const int pack : {1, 2, 4}) {
        const int last = ((pack << tile.column_bits) - 1) * tile.pitch + (1 << tile.row_bits) - 1;
        ASSERT_LT(last, pack * cuda::kTransposeShared) << rows << " x " << columns << " of " << pack;
      }
    }
}

// A warp's 32 packs of four bytes, as it goes along a row of a tile that is as wide: each in a bank of its
// own.
TEST(CudaTranspose, RowsMeetAllBanks) {
  for (const std::int64_t rows : {2, 3, 7, 16, 32, 1000}) {
    const cuda::TransposeTile tile(rows, 1000);
    ASSERT_GE(tile.column_bits, 5);
    std::set<int> banks;
    for (int c = 0; c < 32; ++c) banks.insert(c * tile.pitch % 32);
    EXPECT_EQ(banks.size(), 32u) << rows;
  }
}

// Thin planes, planes of several tiles, and with and without packs.
TEST(CudaTranspose, CopiesPlanesOfAnyShape) {
  for (const std::int64_t rows : {2, 3, 4, 31, 32, 33, 66, 130})
    for (const std::int64_t columns : {4, 33, 64, 130, 780, 1560}) {
      std::vector<std::int16_t> from(static_cast<std::size_t>(rows * columns)), to(from.size(), -1);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int16_t>(i);
      const std::int64_t shape[] = {rows, columns}, transposed[] = {1, rows}, strides[] = {columns, 1};
      View in{}, out{};
      in.data = from.data(), out.data = to.data();
      in.ndim = out.ndim = 2;
      in.dtype = out.dtype = info(Dtype::i16).dlpack;
      in.shape = out.shape = const_cast<std::int64_t*>(shape);
      in.strides = const_cast<std::int64_t*>(transposed);
      out.strides = const_cast<std::int64_t*>(strides);
      const View* const views[] = {&out, &in};
      const cpu::Space space = cpu::make_space(views, 2);
      ASSERT_EQ(space.rank, 2);
      cuda::copy_transposed<std::int16_t>(space, 1, in, out);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(to[static_cast<std::size_t>(r * columns + c)],
                    from[static_cast<std::size_t>(c * rows + r)])
              << rows << " x " << columns << ": " << r << ", " << c;
    }
}

}  // namespace
}  // namespace assay
