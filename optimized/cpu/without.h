// The rows of an operator that works along one dimension: the space of all other dimensions.
#pragma once

#include <array>

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

// Operand 0 is the output, operand 1 the input; both have the same shape. Rank 0 has one row.
// Throws Refused for more than kMaxRank dimensions.
inline Space space_without(int dim, const View& out, const View& in) {
  const detail::Without y(out, dim), x(in, dim);
  const View* const views[] = {&y.view, &x.view};
  return make_space(views, 2);
}

}  // namespace assay::cpu
