#include "reshape.h"

#include <algorithm>

#include "check_case.h"
#include "layouts.h"

namespace assay {
namespace {

// Where dimension d of a run stands in a tensor or list of this pattern and rank; -1 if broadcasting left it out.
std::int64_t position_of(const ShapePattern& pattern, const Shaped& from, const std::string& run,
                         std::size_t d, std::size_t rank) {
  if (pattern.broadcasts_to_symbols()) return -1;
  std::size_t at = 0;
  for (const DimPattern& p : pattern.dims) {
    if (p.kind == DimPattern::Kind::run && p.name == run)
      return static_cast<std::int64_t>(at + d) -
             (pattern.broadcast ? static_cast<std::int64_t>(from.binding.runs.at(run).size() - rank) : 0);
    at += p.kind == DimPattern::Kind::run ? from.binding.runs.at(p.name).size() : 1;
  }
  return -1;
}

std::int64_t rank_of(const Case& c, int argument) {
  const auto* t = std::get_if<TensorSpec>(&c.arguments[static_cast<std::size_t>(argument)]);
  return t == nullptr ? 1 : std::max<std::int64_t>(static_cast<std::int64_t>(t->shape.size()), 1);
}

// The axis when dimension `lost` of `rank` is gone; a scalar tensor counts as one dimension.
std::int64_t moved(std::int64_t axis, std::int64_t rank, std::int64_t lost) {
  const bool negative = axis < 0;
  std::int64_t at = negative ? axis + rank : axis;
  const std::int64_t new_rank = std::max<std::int64_t>(rank - 1, 1);
  if (at > lost) --at;
  at = std::min(at, new_rank - 1);
  return negative ? at - new_rank : at;
}

// Axes into the tensor argument, which is about to lose a dimension: of a list, the lost one goes.
void move_axes(Case& c, int tensor, std::int64_t lost) {
  const std::int64_t rank = rank_of(c, tensor);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
    if (!d.has_axes() || d.of != tensor) continue;
    if (auto* axis = std::get_if<std::int64_t>(&c.arguments[i])) *axis = moved(*axis, rank, lost);
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&c.arguments[i])) {
      std::erase_if(*list, [&](std::int64_t axis) { return (axis < 0 ? axis + rank : axis) == lost; });
      for (std::int64_t& axis : *list) axis = moved(axis, rank, lost);
    }
  }
}

void lose_dimension(Case& c, int argument, std::int64_t at) {
  move_axes(c, argument, at);
  auto& t = std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(argument)]);
  t.shape.erase(t.shape.begin() + at);
  t.layout = without_dimension(t.layout, at, t.shape.size());
}

}  // namespace

std::optional<Shaped> shaped(const Case& c) {
  ShapeMatch m = match_case(c);
  if (!m.error.empty()) return std::nullopt;
  return Shaped{&shape_rule(*c.op).alternatives[static_cast<std::size_t>(m.alternative)],
                std::move(m.binding)};
}

Case resized(const Case& c, const Shaped& from, const ShapeBinding& sizes) {
  Case next = c;
  for (const ShapePattern& p : from.alternative->inputs) {
    CaseValue& value = next.arguments[static_cast<std::size_t>(p.argument)];
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&value)) *list = instantiate(p, sizes);
    auto* t = std::get_if<TensorSpec>(&value);
    if (t == nullptr || p.computed()) continue;
    if (!p.broadcast) {
      t->shape = instantiate(p, sizes);
      continue;
    }
    const Shape before = instantiate(p, from.binding), after = instantiate(p, sizes);
    for (std::size_t i = 1; i <= t->shape.size(); ++i) {
      std::int64_t& size = t->shape[t->shape.size() - i];
      if (size == before[before.size() - i]) size = after[before.size() - i];
    }
  }
  for (const BoundNumber& n : from.alternative->numbers)
    next.arguments[static_cast<std::size_t>(n.argument)] = n.value(sizes);
  return next;
}

ShapeBinding without_dimension(const Shaped& from, const std::string& run, std::size_t dimension) {
  ShapeBinding left = from.binding;
  for (auto& [name, sizes] : left.runs) {
    const std::string* in = from.alternative->window_in(name);
    if (name == run || (in != nullptr && *in == run))
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dimension));
  }
  return left;
}

Case without_run_dimension(const Case& c, const Shaped& from, const std::string& run, std::size_t dimension) {
  Case next = c;
  const ShapeBinding left = without_dimension(from, run, dimension);
  for (const ShapePattern& p : from.alternative->inputs) {
    CaseValue& value = next.arguments[static_cast<std::size_t>(p.argument)];
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&value)) *list = instantiate(p, left);
    for (const auto& [name, sizes] : from.binding.runs) {
      const auto* t = std::get_if<TensorSpec>(&value);
      if (t == nullptr || left.runs.at(name).size() == sizes.size()) continue;
      const std::int64_t at = position_of(p, from, name, dimension, t->shape.size());
      if (at >= 0) lose_dimension(next, p.argument, at);
    }
  }
  for (std::size_t i = 0; i < next.arguments.size(); ++i) {
    auto* list = std::get_if<std::vector<std::int64_t>>(&next.arguments[i]);
    if (list == nullptr || !domain(*c.op, c.op->schema.argument_storage[i].name).is_spatial()) continue;
    if (list->size() > 1 && list->size() == from.binding.runs.at(run).size())
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(dimension));
  }
  for (const BoundNumber& n : from.alternative->numbers)
    next.arguments[static_cast<std::size_t>(n.argument)] = n.value(left);
  return next;
}

Case without_shared_dimension(const Case& c, std::size_t dimension) {
  Case next = c;
  const std::vector<const TensorSpec*> tensors = tensors_of(c);
  for (std::size_t i = 0; i < c.arguments.size(); ++i)
    if (const auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
        t != nullptr && t->shape == tensors.front()->shape)
      lose_dimension(next, static_cast<int>(i), static_cast<std::int64_t>(dimension));
  return next;
}

Case without_broadcast(const Case& c, const Shaped& from, std::size_t argument) {
  Case next = c;
  auto& t = std::get<TensorSpec>(next.arguments[argument]);
  const auto pattern =
      std::ranges::find(from.alternative->inputs, static_cast<int>(argument), &ShapePattern::argument);
  const Shape full = instantiate(*pattern, from.binding);
  if (t.shape.size() != full.size()) t.layout = {};
  t.shape = full;
  if (!without_overlap(t.shape, t.layout) && t.layout.kind == Layout::Kind::strides) t.layout = {};
  return next;
}

}  // namespace assay
