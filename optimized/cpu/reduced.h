// What a reduction keeps and what it goes through.
#pragma once

#include <array>

#include "../geometry/space.h"
#include "vocabulary/axes.h"

namespace assay::cpu {

struct ReducedSpace {
  Space kept;    // operand 0 is the output, operand 1 the input at the first of its reduced elements
  int rank = 0;  // of what is reduced, dimensions joined where the input allows it
  std::int64_t count = 1;  // elements that are reduced to one
  std::array<std::int64_t, kMaxRank> size,
      stride;  // the innermost first; they are gone through in row-major order
};

// Throws Refused for more than kMaxRank dimensions.
ReducedSpace reduced_space(const View& out, const View& in, const Axes& axes, bool keepdim);

// Goes through the reduced elements: all of dimension 0 at a time.
class Walk {
 public:
  explicit Walk(const ReducedSpace& space) : space_(space) {
    for (int d = 1; d < space.rank; ++d) {
      left_ *= space.size[static_cast<std::size_t>(d)];
      index_[static_cast<std::size_t>(d)] = 0;
    }
    if (space.count == 0) left_ = 0;
  }
  bool done() const { return left_ == 0; }
  std::int64_t offset() const { return offset_; }
  void next() {
    --left_;
    for (int d = 1; d < space_.rank; ++d) {
      const auto k = static_cast<std::size_t>(d);
      offset_ += space_.stride[k];
      if (++index_[k] < space_.size[k]) return;
      offset_ -= space_.size[k] * space_.stride[k];
      index_[k] = 0;
    }
  }

 private:
  const ReducedSpace& space_;
  std::int64_t left_ = 1, offset_ = 0;
  std::array<std::int64_t, kMaxRank> index_;
};

}  // namespace assay::cpu
