#include "space.h"

#include "vocabulary/kernel.h"

namespace assay::cpu {
namespace {

using Strides = std::array<std::int64_t, kMaxOperands>;

struct Dimension {
  std::int64_t size;
  Strides stride;
};

// A new outermost dimension, joined with the one before it if stepping it once is stepping that through its
// whole size, for every operand.
void append(Space& space, const Dimension& dim) {
  const auto operands = static_cast<std::size_t>(space.operands);
  bool joins = space.rank > 0;
  if (joins) {
    const auto last = static_cast<std::size_t>(space.rank - 1);
    for (std::size_t k = 0; k < operands; ++k)
      joins = joins && dim.stride[k] == space.stride[k][last] * space.size[last];
  }
  if (!joins) ++space.rank;
  const auto last = static_cast<std::size_t>(space.rank - 1);
  if (joins) {
    space.size[last] *= dim.size;
    return;
  }
  space.size[last] = dim.size;
  for (std::size_t k = 0; k < operands; ++k) space.stride[k][last] = dim.stride[k];
}

// Dimension d of the first view; the others are aligned at the end, and broadcast.
Dimension dimension(const View* const* views, int operands, int d) {
  Dimension dim{views[0]->size(d), {}};
  for (int k = 0; k < operands; ++k) {
    const View& view = *views[k];
    const int own = d - views[0]->rank() + view.rank();
    dim.stride[static_cast<std::size_t>(k)] = own < 0 || view.size(own) == 1 ? 0 : view.stride(own);
  }
  return dim;
}

}  // namespace

Space make_space(const View* const* views, int operands) {
  const View& out = *views[0];
  if (out.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
  std::array<Dimension, kMaxRank> dims;
  std::size_t rank = 0;
  for (int d = out.rank() - 1; d >= 0; --d) {
    if (out.size(d) == 1) continue;
    const Dimension dim = dimension(views, operands, d);
    // Insertion by the output's stride, smallest first; equal strides (of outputs without elements) keep
    // their order.
    std::size_t at = rank++;
    for (; at > 0 && dims[at - 1].stride[0] > dim.stride[0]; --at) dims[at] = dims[at - 1];
    dims[at] = dim;
  }
  Space space;
  space.operands = operands;
  space.count = out.numel();
  for (std::size_t d = 0; d < rank; ++d) append(space, dims[d]);
  return space;
}

Space row_major_space(const View* const* views, int operands, int first, int last) {
  Space space;
  space.operands = operands;
  space.count = 1;
  for (int d = last - 1; d >= first; --d) {
    space.count *= views[0]->size(d);
    if (views[0]->size(d) != 1) append(space, dimension(views, operands, d));
  }
  return space;
}

std::optional<Folded> fold(const Space& space, std::int64_t longest) {
  Folded folded{space, 1, {}};
  std::size_t gone = 0;  // dimensions that become the period
  std::array<bool, kMaxOperands> dense{}, constant{};
  const auto operands = static_cast<std::size_t>(space.operands);
  for (std::size_t k = 0; k < operands; ++k) dense[k] = constant[k] = true;
  for (std::size_t d = 0; d + 1 < static_cast<std::size_t>(space.rank); ++d) {
    // Dimensions 0..d as the period, repeated by dimension d + 1.
    bool fits = true;
    for (std::size_t k = 0; k < operands; ++k) {
      dense[k] = dense[k] && space.stride[k][d] == folded.period;
      constant[k] = constant[k] && space.stride[k][d] == 0;
    }
    folded.period *= space.size[d];
    if (folded.period > longest) return std::nullopt;
    for (std::size_t k = 0; k < operands; ++k) {
      const std::int64_t next = space.stride[k][d + 1];
      const bool row = (dense[k] && next == folded.period) || (constant[k] && next == 0);
      folded.repeats[k] = !row && k != 0 && next == 0;
      fits = fits && (row || folded.repeats[k]);
    }
    if (!fits) continue;
    gone = d + 1;
    break;
  }
  if (gone == 0) return std::nullopt;

  folded.space.rank = space.rank - static_cast<int>(gone);
  for (std::size_t d = 0; d < static_cast<std::size_t>(folded.space.rank); ++d) {
    folded.space.size[d] = space.size[d + gone];
    for (std::size_t k = 0; k < operands; ++k) folded.space.stride[k][d] = space.stride[k][d + gone];
  }
  folded.space.size[0] *= folded.period;
  for (std::size_t k = 0; k < operands; ++k)
    folded.space.stride[k][0] = dense[k] && !folded.repeats[k] ? 1 : 0;
  return folded;
}

Planes::Planes(const Space& whole, std::size_t along) : rows(whole.size[along]), columns(whole.size[0]) {
  const auto operands = static_cast<std::size_t>(whole.operands);
  space.operands = whole.operands;
  space.count = 1;
  for (std::size_t k = 0; k < operands; ++k) {
    row_step[k] = whole.stride[k][along];
    column_step[k] = whole.stride[k][0];
  }
  for (std::size_t d = 1; d < static_cast<std::size_t>(whole.rank); ++d) {
    if (d == along) continue;
    const auto at = static_cast<std::size_t>(space.rank++);
    space.size[at] = whole.size[d];
    space.count *= whole.size[d];
    for (std::size_t k = 0; k < operands; ++k) space.stride[k][at] = whole.stride[k][d];
  }
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
