#include "random_case.h"

#include "arguments.h"
#include "families.h"
#include "random.h"
#include "shapes.h"

namespace assay {
namespace {

constexpr int kLongOneIn = 400;          // long sums belong to the slow tier, but are never quite absent
constexpr std::int64_t kDeepOneIn = 25;  // tensors of more dimensions than kMaxRank

// Not drawn with the rest, so that other cases are what they were before there were deep ones.
bool is_deep(std::uint64_t key) { return Stream(mix(key, hash("deep"))).below(0, kDeepOneIn) == 0; }

}  // namespace

std::string_view draw_family(Draw& draw, const Operator& op) {
  int total = 0;
  for (const Family& f : families()) total += weight_for(op, f);
  std::int64_t left = draw.range(0, total - 1);
  for (const Family& f : families()) {
    if (left < weight_for(op, f)) return f.name;
    left -= weight_for(op, f);
  }
  return families().front().name;
}

void keep_epsilon_from_zero(Case& c) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i)
    if (domain(*c.op, c.op->schema.argument_storage[i].name).kind == Domain::Kind::epsilon)
      if (auto* eps = std::get_if<double>(&c.arguments[i]); eps != nullptr && *eps == 0) *eps = 1e-38;
}

Case random_case(const Operator& op, Dtype dtype, std::uint64_t key, bool is_split) {
  Draw draw(key);
  const ShapeAlternative& alternative = draw.pick(shape_rule(op).alternatives);
  const bool is_long = !is_split && draw.range(1, kLongOneIn) == 1;
  const ShapeBinding binding =
      is_split  ? draw_split_binding(draw, alternative)
      : is_long ? draw_long_binding(draw, alternative)
                : draw_binding(draw, alternative, is_deep(key) && takes_any_rank(alternative));
  Case c = with_shapes(op, dtype, alternative, binding, &draw);
  draw_attributes(draw, c, dtype);
  draw_dtypes(draw, c, dtype);
  draw_layouts(draw, c);
  c.data = is_long ? "long" : draw_family(draw, op);
  if (c.data == "tiny") keep_epsilon_from_zero(c);
  return c;
}

}  // namespace assay
