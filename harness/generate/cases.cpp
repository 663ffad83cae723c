#include "cases.h"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "arguments.h"
#include "check_case.h"
#include "families.h"
#include "layers.h"
#include "random.h"
#include "shapes.h"

namespace assay {
namespace {

constexpr int kLongOneIn = 400;             // long sums belong to the slow tier, but are never quite absent
constexpr std::int64_t kDeepOneIn = 25;     // tensors of more dimensions than kMaxRank
constexpr std::uint64_t kSplitOneIn = 100;  // by index and not by chance: even a short run has one
constexpr std::uint64_t kLayerOneIn = 3;    // calls as networks make them, as long as the operator has any
constexpr std::uint64_t kAttempts = 200;
constexpr std::uint64_t kLeastSeed = 16;  // smaller seeds are for shrinking, see output_layouts

// A fixed case: sizes for the symbols and then the runs, again and again.
struct Step {
  std::size_t dimensions;  // of the first run
  std::vector<std::int64_t> sizes;
  std::string_view family;
  bool channels_last = false;
};

std::vector<Step> ladder(const ShapeAlternative& alternative) {
  const std::size_t images = std::max<std::size_t>(greatest_run(alternative), 1) - 1;  // 4 dimensions in all
  std::vector<Step> steps{
      {0, {1}, "normal"},  // a scalar tensor, where the rule allows one
      {1, {1}, "normal"},
      {1, {5}, "integers"},
      {1, {2, 3, 4, 5, 7}, "normal"},
      {images, {2, 6, 5, 7}, "normal"},
      {images, {2, 6, 5, 7}, "integers", true},
      {1, {3, 4, 67}, "edge"},
  };
  // Empty in each dimension by turns: a matrix product without terms is not one without rows.
  ShapeBinding binding = cycle_binding(alternative, 1, {1});
  const std::size_t dims = sizes_of(alternative, binding).size();
  for (std::size_t d = 0; d < dims; ++d) {
    std::vector<std::int64_t> sizes(dims);
    std::iota(sizes.begin(), sizes.end(), 3);
    sizes[d] = 0;
    steps.push_back({1, sizes, "ones"});
  }
  // The last dimension around the vector widths of 128 to 512 bits.
  constexpr std::string_view kFamilies[] = {"normal", "integers", "edge"};
  std::size_t i = 0;
  for (const std::int64_t width : {7, 8, 9, 15, 16, 17, 33, 64, 65, 129}) {
    std::vector<std::int64_t> sizes(std::max<std::size_t>(dims, 1), 2);
    sizes.back() = width;
    steps.push_back({1, sizes, kFamilies[i++ % std::size(kFamilies)]});
  }
  return steps;
}

Case on_ladder(const Operator& op, Dtype dtype, const ShapeAlternative& alternative, const Step& step) {
  Case c =
      with_shapes(op, dtype, alternative, cycle_binding(alternative, step.dimensions, step.sizes), nullptr);
  if (step.channels_last)
    for (TensorSpec* t : tensors_of(c))
      if (t->shape.size() == 4 || t->shape.size() == 5) t->layout.kind = Layout::Kind::channels_last;
  c.data = step.family;
  return c;
}

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

// Divided by the root of squares that vanish, and of no epsilon, numbers are anything.
void keep_epsilon_from_zero(Case& c) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i)
    if (domain(*c.op, c.op->schema.argument_storage[i].name).kind == Domain::Kind::epsilon)
      if (auto* eps = std::get_if<double>(&c.arguments[i]); eps != nullptr && *eps == 0) *eps = 1e-38;
}

// Not drawn with the rest, so that other cases are what they were before there were deep ones.
bool is_deep(std::uint64_t key) { return Stream(mix(key, hash("deep"))).below(0, kDeepOneIn) == 0; }

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

// Each that the operator has something of, one after the other: even the rarest occurs in a run of some hundred cases.
std::string_view family_in_turn(const Operator& op, std::uint64_t number) {
  std::vector<std::string_view> names;
  for (const Family& f : families())
    if (weight_for(op, f) > 0) names.push_back(f.name);
  return names[number % names.size()];
}

// The number-th layer. What it says of its data holds.
std::optional<Case> layer_case(const Operator& op, Dtype dtype, std::uint64_t key, std::uint64_t number) {
  Draw draw(mix(key, hash("layer")));
  std::optional<Case> c = draw_layer(draw, op, dtype, number);
  if (c && c->data == "normal" && number % 2 == 1) c->data = family_in_turn(op, number / 2);
  if (c && c->data == "tiny") keep_epsilon_from_zero(*c);
  return c;
}

}  // namespace

std::uint64_t ladder_length(const Operator& op) {
  std::uint64_t n = 0;
  for (const ShapeAlternative& alternative : shape_rule(op).alternatives) n += ladder(alternative).size();
  return n;
}

Case generate(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t index) {
  if (!op.dtypes.contains(result_dtype))
    throw std::invalid_argument(fmt::format("{} does not compute in {}", op.schema.name, name(result_dtype)));
  const std::uint64_t key =
      mix(mix(mix(seed, hash(op.schema.name)), static_cast<std::uint64_t>(result_dtype)), index);

  std::optional<Case> c;  // one that the operator allows: what is computed may not go together
  const auto keep = [&](Case drawn) {
    if (check_case(drawn).ok()) c = std::move(drawn);
  };
  std::uint64_t left = index;
  for (const ShapeAlternative& alternative : shape_rule(op).alternatives) {
    const std::vector<Step> steps = ladder(alternative);
    if (left < steps.size()) {
      keep(on_ladder(op, result_dtype, alternative, steps[left]));
      break;
    }
    left -= steps.size();
  }
  const bool is_split = index % kSplitOneIn == kSplitOneIn - 1;
  if (!c && !is_split && left % kLayerOneIn == 0)
    if (std::optional<Case> layer = layer_case(op, result_dtype, key, left / kLayerOneIn))
      keep(*std::move(layer));
  for (std::uint64_t attempt = 0; !c && attempt < kAttempts; ++attempt)
    keep(random_case(op, result_dtype, attempt == 0 ? key : mix(key, attempt), is_split));
  if (!c)
    throw std::logic_error(
        fmt::format("{}: no case that is allowed was found in {} attempts", op.schema.name, kAttempts));
  c->seed = std::max(key >> 32, kLeastSeed);  // short enough to read in a case's text
  return *std::move(c);
}

}  // namespace assay
