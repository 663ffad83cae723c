// A tensor of one number a channel, as a view that broadcasts along dimension 1.
#pragma once

#include <array>

#include "space.h"
#include "vocabulary/kernel.h"

namespace assay::cpu {

class ChannelView {
 public:
  // weight has one dimension: the size of dimension 1 of a tensor of this rank, or 1 for all its elements.
  ChannelView(const View& weight, int rank) : view_(weight) {
    if (rank > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
    shape_.fill(1);
    strides_.fill(0);
    view_.ndim = rank < 2 ? 0 : rank;
    view_.shape = shape_.data();
    view_.strides = strides_.data();
    if (rank < 2) return;
    shape_[1] = weight.size(0);
    strides_[1] = weight.stride(0);
  }
  ChannelView(const ChannelView&) = delete;
  ChannelView& operator=(const ChannelView&) = delete;

  const View& view() const { return view_; }

 private:
  View view_;
  std::array<std::int64_t, kMaxRank> shape_;
  std::array<std::int64_t, kMaxRank> strides_;
};

}  // namespace assay::cpu
