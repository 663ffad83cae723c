// Tensors with the same numbers elsewhere: other layouts, parts of tensors.
#pragma once

#include "../model/call.h"

namespace assay {

// A part of a tensor: `size` elements from `first` on in each dimension.
struct Box {
  Shape first;
  Shape size;
};
Box whole(const Shape& shape);

// The elements in row-major order, each moved to its place in the layout.
TensorData laid_out(const TensorData& from, const Layout& layout);
// The part as a tensor of its own, contiguous.
TensorData part(const TensorData& from, const Box& box);
// The part of a row-major array.
std::vector<std::byte> part(const std::vector<std::byte>& packed, const Shape& shape, int bytes,
                            const Box& box);

bool contiguous(const TensorData& t);

}  // namespace assay
