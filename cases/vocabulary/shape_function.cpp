#include "shape_function.h"

#include <algorithm>
#include <stdexcept>

#include "axes.h"

namespace assay {
namespace {

// What the operand stands for.
const Shape& run(const ShapeCall& call, std::size_t operand) {
  return call.binding.runs.at(call.operands[operand].substr(1));
}
const assay_value& value(const ShapeCall& call, std::size_t operand) {
  const int at = call.op.schema.find(call.operands[operand]);
  if (at < 0) throw std::invalid_argument("no argument " + call.operands[operand]);
  return call.arguments[static_cast<std::size_t>(at)];
}

Shape reduced(const ShapeCall& call) {
  const Shape& full = run(call, 0);
  const assay_value& list = value(call, 1);
  const bool keep = value(call, 2).as.integer != 0;
  std::span<const std::int64_t> named;
  if (list.kind == ASSAY_KIND_INTS) named = {list.as.integers, list.count};
  if (list.kind == ASSAY_KIND_INT) named = {&list.as.integer, 1};
  const Axes axes(named, static_cast<int>(full.size()));
  Shape shape;
  for (std::size_t d = 0; d < full.size(); ++d) {
    if (!axes.contains(static_cast<int>(d)))
      shape.push_back(full[d]);
    else if (keep)
      shape.push_back(1);
  }
  return shape;
}

constexpr ShapeFunction kFunctions[] = {{"reduced", 3, reduced}};

}  // namespace

const ShapeFunction* find_shape_function(std::string_view name) {
  const auto* at = std::ranges::find(kFunctions, name, &ShapeFunction::name);
  return at == std::end(kFunctions) ? nullptr : at;
}

}  // namespace assay
