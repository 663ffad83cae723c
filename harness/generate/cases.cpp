#include "cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "arguments.h"
#include "check_case.h"
#include "covering.h"
#include "families.h"
#include "layers.h"
#include "masked.h"
#include "random.h"
#include "random_case.h"
#include "shapes.h"
#include "windows.h"

namespace assay {
namespace {

constexpr std::uint64_t kSplitOneIn = 100;  // by index and not by chance: even a short run has one
constexpr std::uint64_t kLayerOneIn = 3;    // calls as networks make them, as long as the operator has any
constexpr std::uint64_t kManyLayers =
    40;  // of more, every second case is one: each comes about twice in a run
constexpr std::uint64_t kDrawnOneIn = 4;    // of those that are neither: drawn one by one, without a plan
constexpr std::uint64_t kStarts = 1 << 20;  // layers that a run may begin with, by turns
constexpr std::uint64_t kAttempts = 200;
constexpr std::int64_t kWide = 5;         // of a window that is larger than the image
constexpr std::uint64_t kLeastSeed = 16;  // smaller seeds are for shrinking, see output_layouts

// A fixed case: sizes for the symbols and then the runs, again and again.
struct Step {
  std::size_t dimensions;  // of the first run
  std::vector<std::int64_t> sizes;
  std::string_view family;
  bool channels_last = false;
  std::optional<std::int64_t> axis{};  // that is reduced, in place of all or the default
  // An argument that broadcasts: along columns, without its first dimension, or along rows, where its last one is 1.
  struct Narrowed {
    std::size_t argument;
    bool along_rows;
  };
  std::optional<Narrowed> narrowed{};
  // A window larger than the image, which only its padding lets it be: each of its rows hangs over.
  bool hangs_over = false;
};

bool has_axes(const Operator& op) {
  return std::ranges::any_of(op.schema.arguments(),
                             [&](const Argument& a) { return domain(op, a.name).has_axes(); });
}

bool slides_a_window(const Operator& op, const ShapeAlternative& alternative) {
  return std::ranges::any_of(
             op.schema.arguments(),
             [&](const Argument& a) { return domain(op, a.name).kind == Domain::Kind::window; }) ||
         std::ranges::any_of(alternative.runs(),
                             [&](const std::string& run) { return alternative.window_in(run) != nullptr; });
}

std::vector<Step> ladder(const Operator& op, const ShapeAlternative& alternative) {
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
  // The last dimension around the vector widths of 128 to 512 bits, and one more than blocks of them.
  constexpr std::string_view kFamilies[] = {"normal", "integers", "edge"};
  std::size_t i = 0;
  for (const std::int64_t width : {7, 8, 9, 15, 16, 17, 33, 64, 65, 129, 257, 513, 1025}) {
    std::vector<std::int64_t> sizes(std::max<std::size_t>(dims, 1), 2);
    sizes.back() = width;
    steps.push_back({1, sizes, kFamilies[i++ % std::size(kFamilies)]});
  }
  // What takes one dimension for another of its length is right wherever they differ: squares, which networks have.
  if (!alternative.symbols().empty() && !alternative.runs().empty()) steps.push_back({0, {6}, "normal"});
  for (const ShapePattern& p : alternative.inputs)
    if (p.broadcast && !p.computed() && p.argument >= 0)
      for (const bool along_rows : {false, true})
        steps.push_back(
            {2, {6}, "normal", false, {}, Step::Narrowed{static_cast<std::size_t>(p.argument), along_rows}});
  // Every kind of mask, whatever the seed, along rows and along columns.
  if (has_axes(op)) {
    steps.push_back({2, {31, 259}, kMasked, false, -1});
    steps.push_back({2, {259, 31}, kMasked, false, 0});
  }
  if (slides_a_window(op, alternative)) steps.push_back({2, {2, 3}, "normal", false, {}, {}, true});
  return steps;
}

// Around an image of two or three elements, windows of five with two of padding.
ShapeBinding with_wide_windows(const ShapeAlternative& alternative, ShapeBinding binding) {
  for (auto& [run, window] : binding.runs)
    if (alternative.window_in(run) != nullptr) std::ranges::fill(window, kWide);
  return binding;
}

void hang_over(Case& c) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i)
    if (domain(*c.op, c.op->schema.argument_storage[i].name).kind == Domain::Kind::window)
      c.arguments[i] = std::vector<std::int64_t>{kWide};
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (is_padding(*c.op, i)) c.arguments[i] = half_of_window(c);
    if (c.op->schema.argument_storage[i].name == "stride") c.arguments[i] = std::vector<std::int64_t>{1};
  }
  c = settled(std::move(c));
}

Case on_ladder(const Operator& op, Dtype dtype, const ShapeAlternative& alternative, const Step& step) {
  ShapeBinding binding = cycle_binding(alternative, step.dimensions, step.sizes);
  if (step.hangs_over) binding = with_wide_windows(alternative, std::move(binding));
  Case c = with_shapes(op, dtype, alternative, binding, nullptr);
  if (step.hangs_over) hang_over(c);
  if (step.channels_last)
    for (TensorSpec* t : tensors_of(c))
      if (t->shape.size() == 4 || t->shape.size() == 5) t->layout.kind = Layout::Kind::channels_last;
  for (std::size_t i = 0; step.axis && i < c.arguments.size(); ++i) {
    const Argument& a = op.schema.argument_storage[i];
    if (!domain(op, a.name).has_axes()) continue;
    if (a.list)
      c.arguments[i] = std::vector<std::int64_t>{*step.axis};
    else
      c.arguments[i] = *step.axis;
  }
  if (step.narrowed)
    if (auto* t = std::get_if<TensorSpec>(&c.arguments[step.narrowed->argument]);
        t != nullptr && t->shape.size() > 1) {
      if (step.narrowed->along_rows)
        t->shape.back() = 1;
      else
        t->shape.erase(t->shape.begin());
    }
  c.data = step.family;
  return c;
}

// Each that the operator has something of, one after the other: even the rarest occurs in a run of some hundred cases.
std::string_view family_in_turn(const Operator& op, std::uint64_t number) {
  std::vector<std::string_view> names;
  for (const Family& f : families())
    if (weight_for(op, f) > 0) names.push_back(f.name);
  return names[number % names.size()];
}

// Families in which a wrong result may be as good as the right one: products that are zeros, NaN everywhere, one number for all.
bool may_hide(std::string_view family) {
  return std::ranges::count(std::array<std::string_view, 6>{"constant", "cancelling", "wide", "edge", "special", "tiny"}, family) > 0;
}

// The number-th layer. What it says of its data holds.
std::optional<Case> layer_case(const Operator& op, Dtype dtype, std::uint64_t seed, std::uint64_t key,
                               std::uint64_t number) {
  Draw draw(mix(key, hash("layer")));
  std::optional<Case> c = draw_layer(draw, op, dtype, number, mix(seed, hash("first layer")) % kStarts);
  if (c && c->data == "normal" && number % 2 == 1) {
    const std::string_view family = family_in_turn(op, number / 2);
    // A layer that has one case would be judged by what shows nothing.
    if (!may_hide(family) || number >= layers_of(op).size()) c->data = family;
  }
  if (c && c->data == "tiny") keep_epsilon_from_zero(*c);
  return c;
}

// The left-th case after the ladder: which covering case it is, if it is one. One in `one_in` is a layer; of the others three of four cover.
std::optional<std::uint64_t> covering_number(std::uint64_t left, std::uint64_t one_in) {
  if (one_in > 1 && left % one_in == 0) return std::nullopt;
  const std::uint64_t other =
      one_in > 1 ? left - left / one_in - 1 : left;  // which of those that are no layers
  if (other % kDrawnOneIn == 0) return std::nullopt;
  return other - other / kDrawnOneIn - 1;
}

}  // namespace

std::uint64_t ladder_length(const Operator& op) {
  std::uint64_t n = 0;
  for (const ShapeAlternative& alternative : shape_rule(op).alternatives) n += ladder(op, alternative).size();
  return n;
}

namespace {

std::uint64_t layer_one_in(const Operator& op) {
  return layers_of(op).size() > kManyLayers ? kLayerOneIn - 1 : kLayerOneIn;
}

// Whether the index-th case is drawn one by one: neither fixed, nor a layer, nor planned.
bool is_drawn(const Operator& op, std::uint64_t index) {
  const std::uint64_t fixed = ladder_length(op), one_in = layers_of(op).empty() ? 1 : layer_one_in(op);
  if (index < fixed || covering_number(index - fixed, one_in)) return false;
  return one_in == 1 || (index - fixed) % one_in != 0;
}

// Which covering case the index-th case is, if it is one.
std::optional<std::uint64_t> covering_number(const Operator& op, std::uint64_t index) {
  const std::uint64_t fixed = ladder_length(op);
  if (index < fixed) return std::nullopt;
  return covering_number(index - fixed, layers_of(op).empty() ? 1 : layer_one_in(op));
}

std::uint64_t key_of(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t index) {
  return mix(mix(mix(seed, hash(op.schema.name)), static_cast<std::uint64_t>(result_dtype)), index);
}

}  // namespace

bool is_to_be_split(const Operator& op, std::uint64_t index) {
  if (!is_drawn(op, index)) return false;
  for (std::uint64_t i = index; i % kSplitOneIn != kSplitOneIn - 1; --i)
    if (i == 0 || is_drawn(op, i - 1)) return false;
  return true;
}

namespace {

// The index-th case where it is no covering case, or none of those is allowed.
Case generate_beside(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t key = key_of(op, result_dtype, seed, index);
  std::optional<Case> c;  // one that the operator allows: what is computed may not go together
  std::string why_not;    // of the last one
  const auto keep = [&](Case drawn) {
    if (const Checked checked = check_case(drawn); !checked.ok())
      why_not = checked.error;
    else
      c = std::move(drawn);
  };
  std::uint64_t left = index;
  for (const ShapeAlternative& alternative : shape_rule(op).alternatives) {
    const std::vector<Step> steps = ladder(op, alternative);
    if (left < steps.size()) {
      keep(on_ladder(op, result_dtype, alternative, steps[left]));
      break;
    }
    left -= steps.size();
  }
  const bool split = is_to_be_split(op, index);
  if (!c && !split && left % layer_one_in(op) == 0)
    if (std::optional<Case> layer = layer_case(op, result_dtype, seed, key, left / layer_one_in(op)))
      keep(*std::move(layer));
  // Where much work fits into none that is allowed, as where windows of a graph follow each other, any will do.
  for (std::uint64_t attempt = 0; !c && attempt < kAttempts; ++attempt)
    keep(random_case(op, result_dtype, attempt == 0 ? key : mix(key, attempt),
                     split && attempt < kAttempts / 2));
  if (!c && op.graph != nullptr)
    throw CaseError(fmt::format(
        "{}: no case that is allowed was found in {} attempts; \"shapes\" can say which are. Of the last one: {}",
        op.schema.name, kAttempts, why_not));
  if (!c)
    throw std::logic_error(
        fmt::format("{}: no case that is allowed was found in {} attempts", op.schema.name, kAttempts));
  return *std::move(c);
}

}  // namespace

std::vector<Case> cases_beside_covering(const Operator& op, Dtype result_dtype, std::uint64_t seed) {
  std::vector<Case> all;
  for (std::uint64_t i = 0; i < kUsualRun; ++i)
    if (!covering_number(op, i)) all.push_back(generate_beside(op, result_dtype, seed, i));
  return all;
}

Case generate(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t index) {
  if (!op.dtypes.contains(result_dtype))
    throw std::invalid_argument(fmt::format("{} does not compute in {}", op.schema.name, name(result_dtype)));
  std::optional<Case> c;
  if (const std::optional<std::uint64_t> number = covering_number(op, index))
    if (Case covering = covering_case(op, result_dtype, seed, *number); check_case(covering).ok())
      c = std::move(covering);
  if (!c) c = generate_beside(op, result_dtype, seed, index);
  c->seed = std::max(key_of(op, result_dtype, seed, index) >> 32,
                     kLeastSeed);  // short enough to read in a case's text
  return *std::move(c);
}

}  // namespace assay
