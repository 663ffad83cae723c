#include "size_of_tensors.h"

#include <algorithm>

#include "shape_rule.h"

namespace assay {

bool is_size_of_tensors(const Operator& op, std::size_t argument) {
  const Argument& a = op.schema.argument_storage[argument];
  if (a.type != Type::integer || a.list || a.optional || a.has_default) return false;
  const auto is_factor = [](const ShapeAlternative& of, const std::string& symbol) {
    return std::ranges::any_of(of.inputs, [&](const ShapePattern& p) {
      return std::ranges::any_of(p.dims, [&](const DimPattern& d) {
        return d.kind == DimPattern::Kind::product && d.name == symbol;
      });
    });
  };
  return std::ranges::all_of(shape_rule(op).alternatives, [&](const ShapeAlternative& of) {
    const auto number = std::ranges::find(of.numbers, static_cast<int>(argument), &BoundNumber::argument);
    return number != of.numbers.end() &&
           !(number->size.kind == DimPattern::Kind::symbol && is_factor(of, number->size.name));
  });
}

}  // namespace assay
