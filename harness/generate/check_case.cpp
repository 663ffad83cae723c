#include "check_case.h"

#include <algorithm>

#include "../model/call.h"

namespace assay {
namespace {

// The tensor without memory, which the check does not look at.
TensorData outline(const TensorSpec& spec) {
  TensorData t;
  t.dtype = spec.dtype;
  t.shape = spec.shape;
  t.strided.strides = strided(spec.shape, spec.layout).strides;
  return t;
}

CallValue without_data(const CaseValue& value) {
  return std::visit(
      [](const auto& v) -> CallValue {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, TensorSpec>) {
          return outline(v);
        } else if constexpr (std::is_same_v<V, std::vector<TensorSpec>>) {
          std::vector<TensorData> list;
          for (const TensorSpec& spec : v) list.push_back(outline(spec));
          return list;
        } else {
          return v;
        }
      },
      value);
}

Call outline(const Case& c) {
  Call call;
  call.op = c.op;
  for (const CaseValue& v : c.arguments) call.arguments.push_back(without_data(v));
  return call;
}

}  // namespace

Checked check_case(const Case& c) {
  const Call call = outline(c);
  return check_arguments(*c.op, Arguments(call).values());
}

ShapeMatch match_case(const Case& c) {
  const Call call = outline(c);
  return match_shapes(*c.op, Arguments(call).values());
}

namespace {

// No mask asks for the result of an argument that is None.
void settle_masks(Case& c) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    auto* mask = std::get_if<std::vector<std::int64_t>>(&c.arguments[i]);
    const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
    if (mask == nullptr || d.kind != Domain::Kind::mask) continue;
    for (std::size_t k = 0; k < std::min(mask->size(), d.choices.size()); ++k)
      if (std::holds_alternative<None>(
              c.arguments[static_cast<std::size_t>(c.op->schema.find(d.choices[k]))]))
        (*mask)[k] = 0;
  }
}

}  // namespace

Case settled(Case c) {
  settle_masks(c);
  const auto is_computed = [](const ShapePattern& p) { return p.computed(); };
  if (std::ranges::none_of(shape_rule(*c.op).alternatives,
                           [&](const auto& a) { return std::ranges::any_of(a.inputs, is_computed); }))
    return c;
  const Call call = outline(c);
  for (auto& [i, shape] : computed_shapes(*c.op, Arguments(call).values())) {
    auto& t = std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(i)]);
    if (t.shape == shape) continue;
    if (t.shape.size() != shape.size() || t.layout.kind == Layout::Kind::strides) t.layout = {};
    t.shape = std::move(shape);
  }
  return c;
}

std::vector<TensorSpec*> tensors_of(Case& c) {
  std::vector<TensorSpec*> tensors;
  for (CaseValue& v : c.arguments)
    if (auto* t = std::get_if<TensorSpec>(&v)) tensors.push_back(t);
  return tensors;
}

std::vector<const TensorSpec*> tensors_of(const Case& c) {
  std::vector<const TensorSpec*> tensors;
  for (const CaseValue& v : c.arguments)
    if (const auto* t = std::get_if<TensorSpec>(&v)) tensors.push_back(t);
  return tensors;
}

}  // namespace assay
