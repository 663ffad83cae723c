// A tensor one dimension of which is split in two: channels as groups of channels.
#pragma once

#include <array>

#include "space.h"
#include "vocabulary/kernel.h"

namespace assay::cpu {

class SplitView {
 public:
  // Dimension `dim` becomes `parts` times its size over `parts`, which leaves no rest.
  SplitView(const View& whole, int dim, std::int64_t parts) : view_(whole) {
    if (whole.rank() >= kMaxRank) throw Refused("tensors of more than 63 dimensions are not supported");
    std::size_t to = 0;
    for (int d = 0; d < whole.rank(); ++d) {
      const std::int64_t size = d == dim ? whole.size(d) / parts : whole.size(d);
      if (d == dim) {
        shape_[to] = parts;
        strides_[to++] = size * whole.stride(d);
      }
      shape_[to] = size;
      strides_[to++] = whole.stride(d);
    }
    view_.ndim = static_cast<int>(to);
    view_.shape = shape_.data();
    view_.strides = strides_.data();
  }
  SplitView(const SplitView&) = delete;
  SplitView& operator=(const SplitView&) = delete;

  const View& view() const { return view_; }

 private:
  View view_;
  std::array<std::int64_t, kMaxRank> shape_, strides_;
};

}  // namespace assay::cpu
