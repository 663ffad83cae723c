#include "tensor_copy.h"

#include "../model/strided_copy.h"

namespace assay {
namespace {

std::vector<std::byte> gather_box(const std::byte* first, const std::vector<std::int64_t>& strides, int bytes,
                                  const Box& box) {
  for (std::size_t d = 0; d < strides.size(); ++d) first += box.first[d] * strides[d] * bytes;
  return gather(first, box.size, strides, bytes);
}

}  // namespace

Box whole(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

bool contiguous(const TensorData& t) { return is_packed(t.shape, t.strided.strides); }

TensorData laid_out(const TensorData& from, const Layout& layout) {
  TensorData to(from.dtype, from.shape, layout);
  const int size = bytes(to.dtype);
  std::byte* const first = to.memory.data() + to.strided.offset * size;
  if (contiguous(from)) {
    const auto packed = std::span(from.memory).subspan(static_cast<std::size_t>(from.strided.offset * size));
    scatter(first, packed, to.shape, to.strided.strides, size);
  } else {
    scatter(first, from.packed(), to.shape, to.strided.strides, size);
  }
  return to;
}

TensorData part(const TensorData& from, const Box& box) {
  TensorData to(from.dtype, box.size);
  if (to.numel() > 0)
    to.memory = gather_box(from.memory.data() + from.strided.offset * bytes(from.dtype), from.strided.strides,
                           bytes(from.dtype), box);
  return to;
}

std::vector<std::byte> part(const std::vector<std::byte>& packed, const Shape& shape, int bytes,
                            const Box& box) {
  return gather_box(packed.data(), strided(shape, {}).strides, bytes, box);
}

}  // namespace assay
