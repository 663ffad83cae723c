#include "rearranged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "pairs.h"
#include "pitch.h"

namespace assay::diff {
namespace {

constexpr std::size_t kMostDimensions = 6;
constexpr std::int64_t kMostShift = 64;

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// b's dimension d is a's dimension order[d], backwards where `reversed` says so.
Place through(const Shape& a, const Shape& b, const std::vector<std::size_t>& order, std::size_t reversed) {
  return [from = strides_of(a), to = strides_of(b), b, order, reversed](std::int64_t i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < b.size(); ++d) {
      std::int64_t k = i / to[d] % b[d];
      if (d == reversed) k = b[d] - 1 - k;
      at += k * from[order[d]];
    }
    return at;
  };
}

std::optional<std::string> permuted(const Pairs& pairs, const Shape& a, const Shape& b) {
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  while (std::ranges::next_permutation(order).found) {
    bool fits = true;
    for (std::size_t d = 0; d < b.size(); ++d) fits = fits && b[d] == a[order[d]];
    if (fits && pairs.holds(through(a, b, order, b.size())))
      return fmt::format("its dimensions in the order ({})", fmt::join(order, ", "));
  }
  // The same memory read as if the dimensions lay in another order: the sizes stay, the numbers go elsewhere.
  std::ranges::sort(order);
  while (a == b && std::ranges::next_permutation(order).found) {
    Shape other(a.size());
    for (std::size_t d = 0; d < a.size(); ++d) other[d] = a[order[d]];
    // Row-major number i of `other`, whose dimension d is a's order[d].
    const Place written = through(a, other, order, a.size());
    if (pairs.holds(written))
      return fmt::format("written with its dimensions in the order ({})", fmt::join(order, ", "));
  }
  return std::nullopt;
}

std::optional<std::string> reversed(const Pairs& pairs, const Shape& shape) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && pairs.holds(through(shape, shape, order, d)))
      return fmt::format("dimension {} reversed", d);
  return std::nullopt;
}

std::optional<std::string> shifted(const Pairs& pairs) {
  const std::int64_t n = pairs.count();
  for (std::int64_t s = 1; s <= std::min(kMostShift, n / 4); ++s)
    for (const std::int64_t by : {s, -s})
      if (pairs.holds([n, by](std::int64_t i) { return i - by < 0 || i - by >= n ? -1 : i - by; }))
        return fmt::format("shifted by {} element{}", by, by == 1 ? "" : "s");
  return std::nullopt;
}

}  // namespace

std::optional<std::string> rearranged(const Elements& a, const Shape& shape_a, const Elements& b,
                                      const Shape& shape_b) {
  const Pairs pairs(a, b);
  if (a.count() != b.count() || a.count() < 4 || is_nearly_constant(a)) return std::nullopt;
  const bool in_place = pairs.holds([](std::int64_t i) { return i; });
  if (shape_a == shape_b && in_place) return std::nullopt;
  const bool few = shape_a.size() <= kMostDimensions;
  if (few && shape_a.size() == shape_b.size())
    if (auto found = permuted(pairs, shape_a, shape_b)) return found;
  if (in_place) return fmt::format("the same numbers in the same order, as shape [{}]", text(shape_b));
  if (few && shape_a == shape_b)
    if (auto found = reversed(pairs, shape_a)) return found;
  if (auto found = shifted(pairs)) return found;
  return pitched(a, shape_a, b.bytes, b.dtype);
}

}  // namespace assay::diff
