#include "another_shape.h"

#include <algorithm>
#include <functional>
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

namespace {

// Of each order of dimensions in which it has this shape, what it was before, until that is taken.
void each_order(const Shape& shape, const TensorData& t, const std::function<bool(TensorData, const std::vector<std::size_t>&)>& take) {
  const std::size_t n = t.shape.size();
  if (n != shape.size() || n > kMostPermuted || t.numel() == 0) return;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  while (std::ranges::next_permutation(order).found) {
    Origin back;
    back.strides.emplace(n, 0);
    bool fits = true;
    for (std::size_t d = 0; d < n; ++d) {
      fits = fits && t.shape[d] == shape[order[d]];
      (*back.strides)[order[d]] = t.strided.strides[d];
    }
    if (!fits) continue;
    auto before = view_of(t, back, shape);
    if (before && take(std::move(*before), order)) return;
  }
}

}  // namespace

std::optional<Rearranged> rearranged_from(const TensorData& right, const TensorData& t) {
  std::optional<Rearranged> found;
  each_order(right.shape, t, [&](TensorData before, const std::vector<std::size_t>& order) {
    if (are_alike(before, right)) found = Rearranged{std::move(before), order};
    return found.has_value();
  });
  return found;
}

std::optional<TensorData> rearranged_to(const Shape& shape, const TensorData& t) {
  std::optional<TensorData> found;
  bool several = false;
  each_order(shape, t, [&](TensorData before, const std::vector<std::size_t>&) {
    several = found && !same_bits(packed_copy(*found), packed_copy(before));
    found = std::move(before);
    return several;
  });
  return several ? std::nullopt : std::move(found);
}

}  // namespace assay
