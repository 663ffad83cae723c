#include "another_shape.h"

#include <algorithm>
#include <numeric>

#include "another.h"
#include "origin.h"

namespace assay {
namespace {

constexpr std::size_t kMostPermuted = 6;  // dimensions

Shape without_ones(Shape s) {
  std::erase(s, 1);
  return s;
}

}  // namespace

bool is_another_view(const Shape& a, const Shape& b) {
  if (without_ones(a) == without_ones(b)) return true;
  return a.size() > 2 && b.size() == 2 && a.back() == b.back() && numel(a) == numel(b);
}

std::optional<Rearranged> rearranged_from(const TensorData& right, const TensorData& t) {
  const std::size_t n = t.shape.size();
  if (n != right.shape.size() || n > kMostPermuted || t.numel() == 0) return std::nullopt;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  while (std::ranges::next_permutation(order).found) {
    Origin back;
    back.strides.emplace(n, 0);
    bool fits = true;
    for (std::size_t d = 0; d < n; ++d) {
      fits = fits && t.shape[d] == right.shape[order[d]];
      (*back.strides)[order[d]] = t.strided.strides[d];
    }
    if (!fits) continue;
    auto before = view_of(t, back, right.shape);
    if (before && are_alike(*before, right)) return Rearranged{std::move(*before), order};
  }
  return std::nullopt;
}

}  // namespace assay
