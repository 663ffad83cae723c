#include "memory_order.h"

namespace assay::diagnose {

MemoryOrder::MemoryOrder(const Shape& shape, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> in_memory(shape.size()), in_tensor(shape.size());  // strides of each dimension
  std::int64_t step = 1;
  for (std::size_t k = order.size(); k-- > 0; step *= shape[order[k]]) in_memory[order[k]] = step;
  step = 1;
  for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) in_tensor[d] = step;
  for (std::size_t d = shape.size(); d-- > 0;) places_.push_back({shape[d], in_memory[d]});
  for (std::size_t k = order.size(); k-- > 0;) elements_.push_back({shape[order[k]], in_tensor[order[k]]});
}

}  // namespace assay::diagnose
