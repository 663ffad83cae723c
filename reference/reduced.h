// What one element of a reduction is reduced from: the elements of a tensor along some axes, numbered row-major.
#pragma once

#include <array>

#include "axes.h"
#include "tensor.h"

namespace assay {

class Reduced {
 public:
  // For element i of a result that has lost the axes, or keeps them with size 1.
  Reduced(std::span<const std::int64_t> shape, const Axes& axes, bool keepdim, const Index& i) {
    std::int64_t stride = 1;
    int out = i.rank() - 1;
    for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
      const std::int64_t n = shape[static_cast<std::size_t>(d)];
      if (axes.contains(d)) {
        sizes_[rank_] = n;
        strides_[rank_++] = stride;
        size_ *= n;
        out -= keepdim ? 1 : 0;
      } else {
        first_ += i[out--] * stride;
      }
      stride *= n;
    }
  }

  std::int64_t size() const { return size_; }
  // The number of the k-th in the whole tensor.
  std::int64_t number(std::int64_t k) const {
    std::int64_t n = first_;
    for (std::size_t d = 0; d < rank_; ++d) {
      n += k % sizes_[d] * strides_[d];
      k /= sizes_[d];
    }
    return n;
  }

 private:
  std::array<std::int64_t, kMaxRank> sizes_, strides_;  // of the axes, the last one first
  std::size_t rank_ = 0;
  std::int64_t size_ = 1, first_ = 0;
};

using AxisList = std::optional<std::span<const std::int64_t>>;

}  // namespace assay
