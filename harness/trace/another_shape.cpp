#include "another_shape.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "another.h"
#include "origin.h"

namespace assay {
namespace {

constexpr std::size_t kMostPermuted = 6;  // dimensions

Shape without_ones(Shape s) {
  std::erase(s, 1);
  return s;
}

// How many elements a whole number of its first dimensions has: {8, 56, 392} of [8x7x7].
std::set<std::int64_t> leading(const Shape& s) {
  std::set<std::int64_t> all;
  std::int64_t n = 1;
  for (const std::int64_t size : s) all.insert(n *= size);
  all.erase(1);
  return all;
}

}  // namespace

bool is_another_view(const Shape& a, const Shape& b) {
  if (without_ones(a) == without_ones(b)) return true;
  return a.size() > 2 && b.size() == 2 && a.back() == b.back() && numel(a) == numel(b);
}

bool is_joined_or_divided(const Shape& a, const Shape& b) {
  if (numel(a) != numel(b)) return false;
  const std::set<std::int64_t> of_a = leading(a), of_b = leading(b);
  return std::ranges::includes(of_a, of_b) || std::ranges::includes(of_b, of_a);
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
