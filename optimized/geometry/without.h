// The rows of an operator that works along one dimension: the space of all other dimensions.
#pragma once

#include <array>
#include <optional>

#include "space.h"
#include "vocabulary/kernel.h"

namespace assay::cpu {

namespace detail {

struct Without {
  View view;
  std::array<std::int64_t, kMaxRank> shape, strides;

  Without(const View& whole, int dim) : view(whole) {
    if (whole.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
    std::size_t kept = 0;
    for (int d = 0; d < whole.rank(); ++d) {
      if (d == dim) continue;
      shape[kept] = whole.size(d);
      strides[kept++] = whole.stride(d);
    }
    view.ndim = static_cast<int>(kept);
    view.shape = shape.data();
    view.strides = strides.data();
  }
  Without(const Without&) = delete;
};

}  // namespace detail

// The views have the same shape; the first is the output. Rank 0 has one row. At most kMaxOperands views.
// Throws Refused for more than kMaxRank dimensions.
inline Space space_without(int dim, const View* const* views, int operands) {
  std::optional<detail::Without> rows[kMaxOperands];
  const View* row_views[kMaxOperands] = {};
  for (int i = 0; i < operands; ++i) row_views[i] = &rows[i].emplace(*views[i], dim).view;
  return make_space(row_views, operands);
}

}  // namespace assay::cpu
