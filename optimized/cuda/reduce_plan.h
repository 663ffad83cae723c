// What a reduction keeps and what it goes through, and whether strides allow accesses of 16 bytes.
#pragma once

#include <array>

#include "device.h"
#include "geometry/space.h"
#include "vocabulary/axes.h"
#include "vocabulary/kernel.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// What a reduction keeps and what it goes through.
struct ReducePlan {
  cpu::Space kept;     // operand 0 is the output, the inputs follow
  cpu::Space reduced;  // its operands are the inputs

  // `axes` is Axes, or what contains(d) just so. Inputs have the first one's shape, or are 1 where they repeat.
  // `in_order`: elements are numbered in row-major order, else as they lie in the first input's memory.
  // Throws Refused for more than kMaxRank dimensions.
  template <class Dimensions>
  ReducePlan(const View& out, const View* const* inputs, int count, const Dimensions& axes, bool keepdim,
             bool in_order = false) {
    const int rank = inputs[0]->rank();
    if (rank > cpu::kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
    std::array<Part, cpu::kMaxOperands> keeps, reduces;
    const View *kept_views[cpu::kMaxOperands], *reduced_views[cpu::kMaxOperands];
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (int d = 0; d < rank; ++d)
        (axes.contains(d) ? reduces[at] : keeps[at + 1]).append(inputs[i]->size(d), inputs[i]->stride(d));
      reduced_views[i] = &reduces[at].of(*inputs[i]);
      kept_views[i + 1] = &keeps[at + 1].of(*inputs[i]);
    }
    for (int d = 0, to = 0; d < rank; ++d) {
      if (!axes.contains(d)) keeps[0].append(out.size(to), out.stride(to));
      if (!axes.contains(d) || keepdim) ++to;
    }
    kept_views[0] = &keeps[0].of(out);
    kept = cpu::make_space(kept_views, count + 1);
    reduced = in_order ? cpu::row_major_space(reduced_views, count, 0, reduced_views[0]->rank())
                       : cpu::make_space(reduced_views, count);
  }

 private:
  // Some of a view's dimensions.
  struct Part {
    int rank = 0;
    std::array<std::int64_t, cpu::kMaxRank> shape, strides;
    View view;
    void append(std::int64_t size, std::int64_t stride) {
      shape[static_cast<std::size_t>(rank)] = size;
      strides[static_cast<std::size_t>(rank++)] = stride;
    }
    const View& of(const View& whole) {
      view = whole;
      view.ndim = rank;
      view.shape = shape.data();
      view.strides = strides.data();
      return view;
    }
  };
};

// Whether dimension 0 is whole vectors of T side by side, and the others step over whole ones, in operands [first, last).
inline bool steps_in_vectors(const cpu::Space& space, int first, int last, std::int64_t width, bool dense) {
  if (dense && (space.rank == 0 || space.size[0] % width != 0)) return false;
  for (int k = first; k < last; ++k)
    for (int d = 0; d < space.rank; ++d) {
      const std::int64_t step = space.stride[static_cast<std::size_t>(k)][static_cast<std::size_t>(d)];
      if (dense && d == 0 ? step != 1 : step % width != 0) return false;
    }
  return true;
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
