#include "properties.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "../model/strided_copy.h"
#include "draw.h"
#include "layouts.h"
#include "random.h"
#include "tensor_copy.h"
#include "vocabulary/reference.h"

namespace assay {
namespace {

TensorData* tensor(Call& call, std::size_t i) { return std::get_if<TensorData>(&call.arguments[i]); }
const TensorData* tensor(const Call& call, std::size_t i) {
  return std::get_if<TensorData>(&call.arguments[i]);
}

// One relation being looked for.
struct Search {
  const Call& call;
  const Contract& contract;
  Draw draw;

  bool all_contiguous() const {
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      if (const TensorData* t = tensor(call, i); t != nullptr && !contiguous(*t)) return false;
    for (const Layout& layout : call.output_layouts)
      if (layout != Layout{}) return false;
    return true;
  }
  // Derived calls are laid out otherwise than this one, unless this one is all contiguous as they are.
  bool may_change_layout() const { return contract.layout_invariant || all_contiguous(); }
};

// Whether two results count as the same.
bool same(double a, double b, Dtype dtype, const Contract& contract) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return a != 0 || !contract.signed_zero || std::signbit(a) == std::signbit(b);
  if (!is_float(dtype) || !(contract.ftz || contract.daz)) return false;
  const double least = format(dtype).min_normal;  // flushed here, kept there: both are allowed
  return std::fabs(a) < least && std::fabs(b) < least;
}

// The boxes of the original's results, one for each, are what the derived call gave in whole.
std::string compare_boxes(const std::vector<Checked::Output>& outputs, const PackedOutputs& original,
                          const PackedOutputs& derived, const std::vector<Box>& boxes,
                          const Contract& contract) {
  for (std::size_t o = 0; o < original.size() && o < derived.size(); ++o) {
    const Dtype dtype = outputs[o].dtype;
    const int size = bytes(dtype);
    const std::vector<std::byte>& got = derived[o];
    if (boxes[o].size == outputs[o].shape && same_bytes(original[o], got)) continue;  // all of it
    const std::vector<std::byte> expected = part(original[o], outputs[o].shape, size, boxes[o]);
    if (expected.size() != got.size())
      return fmt::format("output {} has {} bytes, not {}", o, got.size(), expected.size());
    if (same_bytes(expected, got)) continue;
    std::size_t differing = 0;
    std::string first;
    for (std::size_t i = 0; i * static_cast<std::size_t>(size) < got.size(); ++i) {
      const double a = load(expected.data() + i * static_cast<std::size_t>(size), dtype);
      const double b = load(got.data() + i * static_cast<std::size_t>(size), dtype);
      if (same(a, b, dtype, contract)) continue;
      if (differing++ > 0) continue;
      Shape index(boxes[o].size.size());
      std::size_t left = i;
      for (std::size_t d = index.size(); d-- > 0;) {
        index[d] = boxes[o].first[d] + static_cast<std::int64_t>(left) % boxes[o].size[d];
        left /= static_cast<std::size_t>(boxes[o].size[d]);
      }
      first = fmt::format("output {} at [{}] is {} in the call, but {} in the derived one", o,
                          fmt::join(index, ","), a, b);
    }
    if (differing > 0)
      return fmt::format("{} ({} of {} elements differ)", first, differing,
                         got.size() / static_cast<std::size_t>(size));
  }
  return {};
}

// Checks the derived call's arguments and gives it contiguous outputs, where it has none.
std::optional<Derived> finish(const Search& s, std::string property, Call derived, std::vector<Box> boxes) {
  Checked checked = check_arguments(*derived.op, Arguments(derived).values());
  if (!checked.ok() || checked.outputs.size() != boxes.size()) return std::nullopt;
  for (std::size_t o = 0; o < boxes.size(); ++o)
    if (checked.outputs[o].shape != boxes[o].size || checked.outputs[o].dtype != derived.outputs[o].dtype)
      return std::nullopt;
  derived.outputs = std::move(checked.outputs);
  derived.output_layouts.resize(derived.outputs.size());
  return Derived{std::move(property), std::move(derived),
                 [outputs = s.call.outputs, boxes = std::move(boxes), contract = s.contract](
                     const PackedOutputs& original, const PackedOutputs& again) {
                   return compare_boxes(outputs, original, again, boxes, contract);
                 }};
}

std::vector<Box> whole_outputs(const Call& call) {
  std::vector<Box> boxes;
  for (const Checked::Output& output : call.outputs) boxes.push_back(whole(output.shape));
  return boxes;
}

Call with_contiguous_outputs(const Call& call) {
  Call derived = call;
  derived.output_layouts.assign(call.outputs.size(), Layout{});
  return derived;
}
// With these tensors in place of its own, which are not copied before.
template <class Instead>
Call with_tensors(const Call& call, const Instead& instead) {
  Call derived;
  derived.op = call.op;
  derived.outputs = call.outputs;
  derived.in_place = call.in_place;
  for (const CallValue& v : call.arguments) {
    const auto* t = std::get_if<TensorData>(&v);
    derived.arguments.push_back(t != nullptr ? CallValue(instead(*t)) : v);
  }
  derived.output_layouts.assign(call.outputs.size(), Layout{});
  return derived;
}

std::optional<Derived> position(Search& s) {
  if ((s.call.op->properties & kElementwise) == 0 || !s.may_change_layout() || !s.contract.position_invariant)
    return std::nullopt;
  const Shape& shape = s.call.outputs[0].shape;
  if (shape.empty()) return std::nullopt;
  // One element, or a stretch in each dimension: each is somewhere else in its vector than before.
  Box box = whole(shape);
  const bool one = s.draw.chance(50);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    box.first[d] = s.draw.range(0, shape[d] - 1);
    box.size[d] = one ? 1 : s.draw.range(1, shape[d] - box.first[d]);
  }
  Call derived = with_contiguous_outputs(s.call);
  for (std::size_t i = 0; i < derived.arguments.size(); ++i) {
    TensorData* t = tensor(derived, i);
    if (t == nullptr) continue;
    Box own = whole(t->shape);
    const std::size_t missing = shape.size() - t->shape.size();
    for (std::size_t d = 0; d < t->shape.size(); ++d) {
      if (t->shape[d] == 1) continue;  // broadcast
      own.first[d] = box.first[d + missing];
      own.size[d] = box.size[d + missing];
    }
    *t = part(*t, own);
  }
  return finish(s, "position", std::move(derived), std::vector<Box>(s.call.outputs.size(), box));
}

// Rows of a matrix product's first operand.
std::optional<Derived> first_operand_rows(Search& s) {
  for (std::size_t i = 0; i < s.call.arguments.size(); ++i) {
    const TensorData* t = tensor(s.call, i);
    if (t == nullptr) continue;
    if (t->shape.empty() || t->shape[0] == 0) return std::nullopt;
    Box rows = whole(t->shape);
    rows.first[0] = s.draw.range(0, t->shape[0] - 1);
    rows.size[0] = s.draw.chance(70) ? 1 : s.draw.range(1, t->shape[0] - rows.first[0]);
    Call derived = with_contiguous_outputs(s.call);
    *tensor(derived, i) = part(*t, rows);
    std::vector<Box> boxes = whole_outputs(s.call);
    for (Box& box : boxes) {
      if (box.size.empty() || box.size[0] != t->shape[0]) return std::nullopt;
      box.first[0] = rows.first[0];
      box.size[0] = rows.size[0];
    }
    return finish(s, "rows", std::move(derived), std::move(boxes));
  }
  return std::nullopt;
}

// One row along the axis argument.
std::optional<Derived> axis_row(Search& s) {
  const Shape& shape = s.call.outputs[0].shape;
  for (std::size_t i = 0; i < s.call.arguments.size(); ++i) {
    const auto* axis = std::get_if<std::int64_t>(&s.call.arguments[i]);
    if (axis == nullptr ||
        domain(*s.call.op, s.call.op->schema.argument_storage[i].name).kind != Domain::Kind::axis)
      continue;
    const auto kept =
        static_cast<std::size_t>(*axis < 0 ? *axis + static_cast<std::int64_t>(shape.size()) : *axis);
    Box row = whole(shape);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d == kept) continue;
      row.first[d] = s.draw.range(0, shape[d] - 1);
      row.size[d] = 1;
    }
    Call derived = with_contiguous_outputs(s.call);
    for (std::size_t k = 0; k < derived.arguments.size(); ++k) {
      TensorData* t = tensor(derived, k);
      if (t == nullptr) continue;
      if (t->shape != shape) return std::nullopt;
      *t = part(*t, row);
    }
    return finish(s, "rows", std::move(derived), std::vector<Box>(s.call.outputs.size(), row));
  }
  return std::nullopt;
}

std::optional<Derived> rows(Search& s) {
  if (!s.contract.row_invariant || !s.may_change_layout()) return std::nullopt;
  if ((s.call.op->properties & kRowIndependent) != 0) return first_operand_rows(s);
  if ((s.call.op->properties & kRowwise) != 0) return axis_row(s);
  return std::nullopt;
}

std::optional<Derived> layout(Search& s) {
  if (!s.contract.layout_invariant) return std::nullopt;
  const bool scatter = s.all_contiguous();
  Call derived = with_tensors(s.call, [&](const TensorData& t) {
    return laid_out(t, scatter ? draw_layout(s.draw, t.shape, false) : Layout{});
  });
  if (scatter)
    for (std::size_t o = 0; o < derived.outputs.size(); ++o)
      derived.output_layouts[o] = draw_layout(s.draw, derived.outputs[o].shape, false);
  return finish(s, "layout", std::move(derived), whole_outputs(s.call));
}

std::optional<Derived> expanded(Search& s) {
  if (!s.contract.layout_invariant) return std::nullopt;
  const auto copies = [](const TensorData& t) {
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      if (t.shape[d] > 1 && t.strided.strides[d] == 0) return true;
    return false;
  };
  const auto ones = [](const TensorData& t) {
    Layout layout{Layout::Kind::expanded, {}};
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      if (t.shape[d] == 1) layout.parameters.push_back(static_cast<std::int64_t>(d));
    return layout;
  };
  Call derived = s.call;
  bool changed = false;
  for (std::size_t i = 0; i < derived.arguments.size(); ++i) {
    TensorData* t = tensor(derived, i);
    if (t == nullptr) continue;
    if (copies(*t)) {
      *t = laid_out(*t, {});
      changed = true;
    } else if (contiguous(*t) && !ones(*t).parameters.empty()) {
      *t = laid_out(*t, ones(*t));
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  return finish(s, "expanded", std::move(derived), whole_outputs(s.call));
}

std::optional<Derived> in_place(Search& s) {
  if (!s.contract.in_place || s.call.op->in_place.empty() || !s.may_change_layout()) return std::nullopt;
  const int i = s.call.op->schema.find(s.call.op->in_place);
  const TensorData* t = i < 0 ? nullptr : tensor(s.call, static_cast<std::size_t>(i));
  if (t == nullptr || t->shape != s.call.outputs[0].shape || t->dtype != s.call.outputs[0].dtype)
    return std::nullopt;
  const Layout shared =
      s.contract.layout_invariant && s.draw.chance(50) ? draw_layout(s.draw, t->shape, false) : Layout{};
  Call derived = s.call;
  *tensor(derived, static_cast<std::size_t>(i)) = laid_out(*t, shared);
  derived.output_layouts[0] = shared;
  derived.in_place = i;
  return finish(s, "in place", std::move(derived), whole_outputs(s.call));
}

// The second call starts from the reference's result rather than the kernel's, so that both can run at once. Where the
// kernel's own result differs, the relation says nothing.
std::optional<Derived> idempotence(Search& s) {
  if ((s.call.op->properties & kIdempotent) == 0 || !s.may_change_layout()) return std::nullopt;
  const Reference* reference = find_reference(s.call.op->schema.name);
  const Checked::Output& output = s.call.outputs[0];
  if (reference == nullptr || s.call.outputs.size() != 1) return std::nullopt;
  for (std::size_t i = 0; i < s.call.arguments.size(); ++i) {
    const TensorData* t = tensor(s.call, i);
    if (t == nullptr) continue;
    if (t->shape != output.shape || t->dtype != output.dtype) return std::nullopt;
    std::vector<double> values(static_cast<std::size_t>(t->numel()));
    const Arguments arguments(s.call);
    reference->evaluate(arguments.values(), s.call.outputs)->values(0, values);
    TensorData once(t->dtype, t->shape);
    for (std::size_t k = 0; k < values.size(); ++k) once.set(static_cast<std::int64_t>(k), values[k]);
    const std::vector<std::byte> expected = once.packed();
    Call derived = with_contiguous_outputs(s.call);
    *tensor(derived, i) = std::move(once);
    std::optional<Derived> d = finish(s, "idempotence", std::move(derived), whole_outputs(s.call));
    if (d)
      d->compare = [expected, compare = d->compare](const PackedOutputs& original,
                                                    const PackedOutputs& again) {
        return compare({expected}, original).empty() ? compare(original, again) : std::string{};
      };
    return d;
  }
  return std::nullopt;
}

bool finite(const Call& call) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (const TensorData* t = tensor(call, i); t != nullptr && is_float(t->dtype))
      for (std::int64_t k = 0; k < t->numel(); ++k)
        if (!std::isfinite(t->get(k))) return false;
  return true;
}

constexpr std::array<std::optional<Derived> (*)(Search&), 6> kRelations{position, layout,   rows,
                                                                        expanded, in_place, idempotence};

}  // namespace

std::optional<Derived> derive(const Call& call, const Contract& contract, std::uint64_t choice) {
  if (call.outputs.empty() || !call.error.empty() || !contract.deterministic) return std::nullopt;
  for (const Checked::Output& output : call.outputs)
    if (numel(output.shape) == 0) return std::nullopt;
  if (!contract.nonfinite && !finite(call)) return std::nullopt;
  const std::uint64_t key = mix(choice, 0xDE51);
  for (std::size_t i = 0; i < kRelations.size(); ++i) {
    Search search{call, contract, Draw(mix(key, i))};
    if (std::optional<Derived> d = kRelations[(key + i) % kRelations.size()](search)) return d;
  }
  return std::nullopt;
}

}  // namespace assay
