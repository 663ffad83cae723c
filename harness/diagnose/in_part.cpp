#include "in_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostFaults = 12;
constexpr std::uint64_t kLeastDiverging = 12;
constexpr std::size_t kLeastDifferentNumbers = 6;

struct RangeOfIndices {
  std::int64_t first, last, size;

  bool is_whole() const { return first == 0 && last == size - 1; }
  bool contains(std::int64_t i) const { return i >= first && i <= last; }
  std::string says() const {
    if (first == last) return fmt::format("{}", first);
    if (last == size - 1) return fmt::format("{} or more", first);
    if (first == 0) return fmt::format("{} or less", last);
    return fmt::format("{} to {}", first, last);
  }
};

// A part of the results of one output.
struct PartOfResults {
  int output;
  std::vector<RangeOfIndices> ranges;  // of each dimension; of a stretch, one of all elements
  Shape shape;                         // of a stretch, none

  bool contains(int of, std::int64_t at) const {
    if (of != output) return false;
    if (shape.empty()) return ranges[0].contains(at);
    for (std::size_t d = shape.size(); d-- > 0; at /= shape[d])
      if (!ranges[d].contains(at % shape[d])) return false;
    return true;
  }
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const RangeOfIndices& r : ranges) n *= r.last - r.first + 1;
    return n;
  }
  std::string says() const {
    if (shape.empty()) return fmt::format("the row-major number of a result is {}", ranges[0].says());
    std::vector<std::string> all;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (!ranges[d].is_whole()) all.push_back(fmt::format("dimension {} is {}", d, ranges[d].says()));
    return fmt::format("{}", fmt::join(all, " and "));
  }
};

// The elements that are less than `width` from an end of one of these dimensions.
struct BorderOfResults {
  int output;
  Shape shape;
  std::vector<std::size_t> dimensions;
  std::int64_t width = 0;

  // From the nearest end, beginning with 0.
  std::int64_t distance(std::int64_t at) const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t d = shape.size(); d-- > 0; at /= shape[d])
      if (std::ranges::find(dimensions, d) != dimensions.end())
        least = std::min(least, std::min(at % shape[d], shape[d] - 1 - at % shape[d]));
    return least;
  }
  bool contains(int of, std::int64_t at) const { return of == output && distance(at) < width; }
  std::int64_t elements() const {
    std::int64_t all = 1, inside = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      all *= shape[d];
      const bool has_border = std::ranges::find(dimensions, d) != dimensions.end();
      inside *= has_border ? std::max<std::int64_t>(shape[d] - 2 * width, 0) : shape[d];
    }
    return all - inside;
  }
  std::string says() const {
    const std::string of = dimensions.size() == 1
                               ? fmt::format("dimension {}", dimensions[0])
                               : fmt::format("dimension {} or {}", dimensions[0], dimensions[1]);
    return width == 1 ? fmt::format("{} is at its first or last index", of)
                      : fmt::format("{} is at one of its first or last {} indices", of, width);
  }
};

// The least border with all that diverges, of the last dimension, the one before, or both. Nothing where that is all of the results.
std::optional<BorderOfResults> least_border(Evidence& evidence, int output) {
  const Shape& shape = evidence.call().outputs[static_cast<std::size_t>(output)].shape;
  const diff::Mask& mask = evidence.mask(output);
  std::optional<BorderOfResults> least;
  const std::size_t last = shape.size() - 1;
  std::vector<std::vector<std::size_t>> choices;
  if (!shape.empty()) choices.push_back({last});
  if (shape.size() > 1) choices.insert(choices.end(), {{last - 1}, {last - 1, last}});
  for (const std::vector<std::size_t>& dimensions : choices) {
    BorderOfResults border{output, shape, dimensions};
    for (std::uint64_t e = 0; e < mask.size(); ++e)
      if (mask[e]) border.width = std::max(border.width, border.distance(static_cast<std::int64_t>(e)) + 1);
    const bool is_all = border.elements() == static_cast<std::int64_t>(mask.size());
    if (!is_all && (!least || border.elements() < least->elements())) least = std::move(border);
  }
  return least;
}

// One number in place of all, zero or what memory held, tells no fault from another: fill.h says what it is.
bool has_numbers(const Evidence& evidence, int output) {
  std::set<double> different;
  for (const Element& e : evidence.tried())
    if (e.output == output && e.diverges && !std::isnan(e.actual)) different.insert(e.actual);
  return different.size() >= kLeastDifferentNumbers;
}

// The least block, and the least stretch, with all that diverges.
std::optional<PartOfResults> least_part(Evidence& evidence, int output) {
  const Shape& shape = evidence.call().outputs[static_cast<std::size_t>(output)].shape;
  const diff::Mask& mask = evidence.mask(output);
  const auto n = static_cast<std::int64_t>(mask.size());
  PartOfResults block{output, {}, shape}, stretch{output, {{n, -1, n}}, {}};
  for (const std::int64_t size : shape) block.ranges.push_back({size, -1, size});
  for (std::int64_t at = 0; at < n; ++at) {
    if (!mask[static_cast<std::size_t>(at)]) continue;
    const auto widen = [](RangeOfIndices& r, std::int64_t i) {
      r.first = std::min(r.first, i);
      r.last = std::max(r.last, i);
    };
    widen(stretch.ranges[0], at);
    std::int64_t rest = at;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) widen(block.ranges[d], rest % shape[d]);
  }
  PartOfResults& least = shape.size() > 1 && block.elements() <= stretch.elements() ? block : stretch;
  if (least.elements() < 1 || least.elements() == n) return std::nullopt;
  return std::move(least);
}

}  // namespace

std::vector<Variant> in_part_of(Evidence& evidence, std::span<const Variant* const> faults) {
  if (faults.empty() || evidence.diverging() < kLeastDiverging) return {};
  const int outputs = static_cast<int>(evidence.call().outputs.size());
  int output = 0;
  while (output < outputs && !(evidence.has(output) && evidence.mask(output).count() > 0)) ++output;
  if (output == outputs) return {};
  if (!has_numbers(evidence, output)) return {};
  std::vector<Variant> all;
  const auto have_in = [&](const auto& part) {
    for (const Variant* fault : faults.first(std::min(kMostFaults, faults.size()))) {
      if (fault->within) continue;
      Variant& v = all.emplace_back(*fault);
      v.name += "_in_part";
      v.says += fmt::format(", where {}", part.says());
      v.definition = {};
      v.within = [part](int of, std::int64_t at) { return part.contains(of, at); };
    }
  };
  const std::optional<PartOfResults> block = least_part(evidence, output);
  const std::optional<BorderOfResults> border = least_border(evidence, output);
  if (border && (!block || border->elements() < block->elements()))
    have_in(*border);
  else if (block)
    have_in(*block);
  return all;
}

}  // namespace assay::diagnose
