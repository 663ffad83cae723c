#include "space.h"

#include "vocabulary/kernel.h"

namespace assay::cpu {
namespace {

using Strides = std::array<std::int64_t, kMaxOperands>;

// Whether stepping `outer` once is stepping `inner` through its whole size, for every operand.
bool joins(const Strides& outer, const Strides& inner, std::int64_t inner_size, int operands) {
  for (int k = 0; k < operands; ++k) {
    const auto o = static_cast<std::size_t>(k);
    if (outer[o] != inner[o] * inner_size) return false;
  }
  return true;
}

}  // namespace

Space make_space(const View* const* views, int operands) {
  const View& out = *views[0];
  if (out.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");

  struct Dimension {
    std::int64_t size;
    Strides stride;
  };
  std::array<Dimension, kMaxRank> dims;
  std::size_t rank = 0;
  Space space;
  space.operands = operands;
  space.count = 1;
  for (int d = out.rank() - 1; d >= 0; --d) {
    space.count *= out.size(d);
    if (out.size(d) == 1) continue;
    Dimension dim{out.size(d), {}};
    for (int k = 0; k < operands; ++k) {
      const View& view = *views[k];
      const int own = d - out.rank() + view.rank();
      dim.stride[static_cast<std::size_t>(k)] = own < 0 || view.size(own) == 1 ? 0 : view.stride(own);
    }
    // Insertion by the output's stride, smallest first; equal strides (of outputs without elements) keep their order.
    std::size_t at = rank++;
    for (; at > 0 && dims[at - 1].stride[0] > dim.stride[0]; --at) dims[at] = dims[at - 1];
    dims[at] = dim;
  }

  for (std::size_t d = 0; d < rank; ++d) {
    if (space.rank > 0) {
      const auto last = static_cast<std::size_t>(space.rank - 1);
      Strides inner{};
      for (std::size_t k = 0; k < inner.size(); ++k) inner[k] = space.stride[k][last];
      if (joins(dims[d].stride, inner, space.size[last], operands)) {
        space.size[last] *= dims[d].size;
        continue;
      }
    }
    const auto i = static_cast<std::size_t>(space.rank++);
    space.size[i] = dims[d].size;
    for (std::size_t k = 0; k < dims[d].stride.size(); ++k) space.stride[k][i] = dims[d].stride[k];
  }
  return space;
}

Runs::Runs(const Space& space, std::int64_t begin, std::int64_t end) : space_(space), left_(end - begin) {
  offset.fill(0);
  index_[0] = 0;
  std::int64_t rest = begin;
  for (std::size_t d = 0; d < static_cast<std::size_t>(space.rank); ++d) {
    index_[d] = rest % space.size[d];
    rest /= space.size[d];
    for (std::size_t k = 0; k < static_cast<std::size_t>(space.operands); ++k)
      offset[k] += index_[d] * space.stride[k][d];
  }
  measure();
}

void Runs::next() {
  left_ -= length;
  if (left_ == 0) return;
  // The run ended with its row: back to the row's start, and on to the next row.
  const auto operands = static_cast<std::size_t>(space_.operands);
  for (std::size_t k = 0; k < operands; ++k) offset[k] -= index_[0] * space_.stride[k][0];
  index_[0] = 0;
  for (std::size_t d = 1; d < static_cast<std::size_t>(space_.rank); ++d) {
    if (++index_[d] < space_.size[d]) {
      for (std::size_t k = 0; k < operands; ++k) offset[k] += space_.stride[k][d];
      break;
    }
    index_[d] = 0;
    for (std::size_t k = 0; k < operands; ++k) offset[k] -= (space_.size[d] - 1) * space_.stride[k][d];
  }
  measure();
}

void Runs::measure() { length = std::min(left_, space_.rank == 0 ? 1 : space_.size[0] - index_[0]); }

}  // namespace assay::cpu
