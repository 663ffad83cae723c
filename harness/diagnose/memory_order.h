// Elements of a tensor in memory that holds its dimensions in another order than the tensor names them.
//
//   const MemoryOrder channels_last(shape, {0, 2, 3, 1});   // outermost first
//   channels_last.place_of(7);                              // where the element of row-major number 7 lies
//   channels_last.element_at(7);                            // which element lies at place 7
#pragma once

#include <cstdint>
#include <vector>

#include "vocabulary/shape_rule.h"

namespace assay::diagnose {

class MemoryOrder {
 public:
  // `order` has each dimension of `shape` once.
  MemoryOrder(const Shape& shape, const std::vector<std::size_t>& order);

  std::int64_t place_of(std::int64_t element) const { return converted(element, places_); }
  std::int64_t element_at(std::int64_t place) const { return converted(place, elements_); }

 private:
  struct Dimension {
    std::int64_t size, stride;
  };
  static std::int64_t converted(std::int64_t number, const std::vector<Dimension>& dimensions) {
    std::int64_t to = 0;
    for (const Dimension& d : dimensions) {
      to += number % d.size * d.stride;
      number /= d.size;
    }
    return to;
  }

  std::vector<Dimension> places_, elements_;  // innermost first
};

}  // namespace assay::diagnose
