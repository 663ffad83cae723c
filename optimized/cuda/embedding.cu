// Rows of a table, chosen by index. A thread takes 16 bytes of a row where rows are whole vectors in the table and in the
// result, else an element; neighbouring threads take neighbours of one row. Elements are moved as bits. Indices were
// checked before the kernel is called.
#include "ops/embedding.h"

#include "call.h"
#include "geometry/without.h"
#include "image.h"
#include "space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// In units of what a thread takes.
struct Table {
  const void* indices;
  bool narrow;  // i32
  std::int64_t columns, row_stride, column_stride, out_column_stride;

  __device__ std::int64_t row(std::int64_t offset) const {
    return narrow ? static_cast<const std::int32_t*>(indices)[offset]
                  : static_cast<const std::int64_t*>(indices)[offset];
  }
};

struct EmbeddingPlace {
  std::int64_t from, to;

  // Of piece i of the result, whose rows are `rows`: of the result, and of the indices.
  __device__ EmbeddingPlace(const Table& t, const Space<2>& rows, std::int64_t i) {
    const std::int64_t row = quotient(i, t.columns), column = i - row * t.columns;
    std::int64_t offset[2];
    rows.locate(row, offset);
    to = offset[0] + column * t.out_column_stride;
    from = t.row(offset[1]) * t.row_stride + column * t.column_stride;
  }
};

// Budget: 34 registers, 2.92 sectors.
template <class T>
__global__ void embedding_kernel(T* out, const T* weight, Table table, Space<2> rows) {
  const std::int64_t count = rows.count * table.columns;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    const EmbeddingPlace p(table, rows, i);
    out[p.to] = weight[p.from];
  }
}

using EmbeddingWord = std::uint64_t;

// Budget: 32 registers, 2.86 sectors.
__global__ void embedding_vector_kernel(EmbeddingWord* out, const EmbeddingWord* weight, Table table,
                                        Space<2> rows) {
  constexpr int width = Vector<EmbeddingWord>::size;
  const std::int64_t count = rows.count * table.columns;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    const EmbeddingPlace p(table, rows, i);
    store_vector(out + p.to * width, load_vector(weight + p.from * width));
  }
}

inline constexpr int kEmbeddingThreads = 256;

template <class T>
void embedding_as(const View& weight, View& out, const Table& table, const Space<2>& rows) {
  launch<embedding_kernel<T>>(blocks_for(rows.count * table.columns, kEmbeddingThreads), kEmbeddingThreads, 0,
                              out.as<T>(), weight.as<const T>(), table, rows);
}

// Turns elements into vectors of 16 bytes, if all rows are made of those.
inline bool embedding_in_vectors(const View& weight, const View& out, Table& table, Space<2>& rows) {
  const std::int64_t width = 128 / out.dtype.bits;
  bool fits = table.column_stride == 1 && table.out_column_stride == 1 && table.columns % width == 0 &&
              table.row_stride % width == 0 && reinterpret_cast<std::uintptr_t>(weight.data) % 16 == 0 &&
              reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0;
  for (int d = 0; d < rows.rank; ++d) fits = fits && rows.stride[0][d] % width == 0;
  if (!fits) return false;
  table.columns /= width;
  table.row_stride /= width;
  for (int d = 0; d < rows.rank; ++d) rows.stride[0][d] /= width;
  return true;
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void embedding(const View& weight, const View& indices, std::int64_t, bool, bool, View& out) {
  if (out.numel() == 0) return;
  const int last = out.rank() - 1;
  const cpu::detail::Without chosen(out, last);
  const View* const views[] = {&chosen.view, &indices};
  Space<2> rows(cpu::make_space(views, 2));
  Table table{indices.data,     indices.type() == Dtype::i32,
              out.size(last),   weight.stride(0),
              weight.stride(1), out.stride(last)};
  if (out.size(last) == 1) table.column_stride = table.out_column_stride = 0;
  if (weight.size(0) == 1) table.row_stride = 0;
  if (embedding_in_vectors(weight, out, table, rows))
    return launch<embedding_vector_kernel>(blocks_for(rows.count * table.columns, kEmbeddingThreads),
                                           kEmbeddingThreads, 0, out.as<EmbeddingWord>(),
                                           weight.as<const EmbeddingWord>(), table, rows);
  switch (out.dtype.bits) {
    case 64:
      return embedding_as<std::uint64_t>(weight, out, table, rows);
    case 32:
      return embedding_as<std::uint32_t>(weight, out, table, rows);
    case 16:
      return embedding_as<std::uint16_t>(weight, out, table, rows);
    default:
      return embedding_as<std::uint8_t>(weight, out, table, rows);
  }
}

constexpr assay_kernel embedding_kernels[] = {ASSAY_CUDA(ops::embedding, embedding, nullptr)};
const Enrolled embedding_enrolled{embedding_kernels};

}  // namespace
}  // namespace assay::cuda
