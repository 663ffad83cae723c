// A tensor whose first two dimensions change places: channels before images.
#pragma once

#include <algorithm>
#include <array>

#include "../geometry/space.h"
#include "vocabulary/kernel.h"

namespace assay::cpu {

class ChannelsFirst {
 public:
  // Precondition: at least two dimensions.
  explicit ChannelsFirst(const View& whole) : view_(whole) {
    if (whole.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
    std::copy_n(whole.shape, whole.rank(), shape_.begin());
    std::copy_n(whole.strides, whole.rank(), strides_.begin());
    std::swap(shape_[0], shape_[1]);
    std::swap(strides_[0], strides_[1]);
    view_.shape = shape_.data();
    view_.strides = strides_.data();
  }
  ChannelsFirst(const ChannelsFirst&) = delete;
  ChannelsFirst& operator=(const ChannelsFirst&) = delete;

  const View& view() const { return view_; }

 private:
  View view_;
  std::array<std::int64_t, kMaxRank> shape_, strides_;
};

}  // namespace assay::cpu
