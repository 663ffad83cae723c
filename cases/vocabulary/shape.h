// The sizes of a tensor's dimensions, and the numbers of its elements in row-major order.
//
//   const Shape shape{2, 3, 4};
//   numel(shape);               // 24
//   index_of(shape, 17);        // {1, 1, 1}
//   element_at(shape, {1, 1, 1});  // 17
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay {

using Shape = std::vector<std::int64_t>;

std::string text(const Shape& shape);  // "2x3x4"; "" for a scalar tensor

// 1 for a scalar. The product must not overflow; check_arguments() has seen to that where sizes are from outside.
inline std::int64_t numel(std::span<const std::int64_t> shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

// Of an element of a tensor that has elements.
inline Shape index_of(std::span<const std::int64_t> shape, std::int64_t element) {
  Shape index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; element /= shape[d]) index[d] = element % shape[d];
  return index;
}
inline std::int64_t element_at(std::span<const std::int64_t> shape, std::span<const std::int64_t> index) {
  std::int64_t element = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) element = element * shape[d] + index[d];
  return element;
}

}  // namespace assay
