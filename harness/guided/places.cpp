#include "places.h"

#include <stdexcept>

#include "../generate/check_case.h"
#include "../generate/layers.h"
#include "../generate/tensor_copy.h"

namespace assay {
namespace {

constexpr std::int64_t kMostElements = 1 << 19;  // of a result
constexpr std::int64_t kLongestStride = 1 << 16;
constexpr std::int64_t kLargestSpan = 1 << 20;  // elements of memory between the first one and the last

using Kind = CasePlace::Kind;
using Integers = std::vector<std::int64_t>;

bool is_bound(const Case& c, std::size_t argument) {
  const ShapeMatch match = match_case(c);
  return match.alternative >= 0 &&
         shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)].binds(argument);
}

bool is_allowed(const Case& c) {
  try {
    return check_case(c).ok();
  } catch (const std::invalid_argument&) {  // a layout that overlaps
    return false;
  }
}

// A result may grow with an attribute: padding, for example.
bool has_results_of_any_use(const Case& c) {
  for (const Checked::Output& o : check_case(c).outputs)
    if (numel(o.shape) > kMostElements) return false;
  return true;
}

// Rows further apart, or elements: what lies outside of them moves along.
std::optional<Layout> with_stride(const TensorSpec& t, std::size_t dim, std::int64_t value) {
  if (value < 1 || value > kLongestStride) return std::nullopt;
  Strided s = strided(t.shape, t.layout);
  const std::int64_t before = s.strides[dim];
  if (before < 1) return std::nullopt;
  for (std::size_t d = 0; d < s.strides.size(); ++d)
    if (d != dim && s.strides[d] > before && value > before)
      s.strides[d] = s.strides[d] / before * value + s.strides[d] % before;
  s.strides[dim] = value;
  std::int64_t span = 1;
  for (std::size_t d = 0; d < s.strides.size(); ++d) span += (t.shape[d] - 1) * s.strides[d];
  if (span > kLargestSpan) return std::nullopt;
  return Layout{Layout::Kind::strides, s.strides};
}

}  // namespace

std::vector<CasePlace> places_of(const Case& c) {
  std::vector<CasePlace> places;
  const std::vector<std::int64_t> sizes = sizes_in(c);
  for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back({Kind::size, i, 0, sizes[i], 0});
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (const auto* t = std::get_if<TensorSpec>(&c.arguments[i])) {
      if (numel(t->shape) == 0) continue;
      const Strided s = strided(t->shape, t->layout);
      for (std::size_t d = 0; d < t->shape.size(); ++d)
        if (t->shape[d] > 1 && s.strides[d] > 0) places.push_back({Kind::stride, i, d, s.strides[d], 0});
    } else if (const auto* n = std::get_if<std::int64_t>(&c.arguments[i])) {
      if (!is_bound(c, i)) places.push_back({Kind::attribute, i, 0, *n, 0});
    } else if (const auto* list = std::get_if<Integers>(&c.arguments[i])) {
      if (!is_bound(c, i))
        for (std::size_t k = 0; k < list->size(); ++k)
          places.push_back({Kind::attribute, i, k, (*list)[k], 0});
    } else if (const auto* real = std::get_if<double>(&c.arguments[i])) {
      places.push_back({Kind::real, i, 0, 0, *real});
    }
  }
  return places;
}

std::optional<Case> with_value(const Case& c, Dtype result_dtype, const CasePlace& place,
                               std::int64_t value) {
  if (place.kind == Kind::size) return with_size(c, result_dtype, place.which, value);
  Case changed = c;
  CaseValue& argument = changed.arguments[place.which];
  if (place.kind == Kind::stride) {
    auto& t = std::get<TensorSpec>(argument);
    const std::optional<Layout> layout = with_stride(t, place.item, value);
    if (!layout) return std::nullopt;
    t.layout = *layout;
  } else if (place.kind == Kind::attribute) {
    if (auto* list = std::get_if<Integers>(&argument))
      (*list)[place.item] = value;
    else
      argument = value;
  } else {
    return std::nullopt;
  }
  if (!is_allowed(changed)) return std::nullopt;
  try {
    changed = settled(std::move(changed));
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  if (!is_allowed(changed) || !has_results_of_any_use(changed)) return std::nullopt;
  return changed;
}

std::optional<Case> with_real(const Case& c, const CasePlace& place, double value) {
  if (place.kind != Kind::real) return std::nullopt;
  Case changed = c;
  changed.arguments[place.which] = value;
  if (!is_allowed(changed)) return std::nullopt;
  return changed;
}

}  // namespace assay
