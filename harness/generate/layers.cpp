#include "layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "check_case.h"
#include "layer_lists.h"
#include "layouts.h"
#include "shapes.h"
#include "small_layer.h"
#include "tensor_copy.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr SizeBudget kSmallLayer{8'192, 300'000};
constexpr SizeBudget kMiddleLayer{65'536, 1 << 20};
constexpr SizeBudget kLargeLayer{1 << 19, 8 << 20};

// Of the calls of one layer one in so many is large. A usual run has two large ones of each layer, one of either shape, where that
// makes no more than a third of the calls large; of many layers each has one at most.
std::uint64_t large_one_in(std::size_t layers) {
  constexpr std::uint64_t kCallsOfRun = 70, kUsual = 5, kLeast = 3;
  const std::uint64_t of_each = kCallsOfRun / std::max<std::size_t>(layers, 1) / 2;
  return of_each < kLeast ? kUsual : std::min(of_each, kUsual);
}

std::vector<Case> parsed() {
  std::vector<Case> all;
  for (std::string_view rest : layer_lists())
    while (!rest.empty()) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      line = line.substr(0, line.find('#'));
      while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
      // A build of some operators alone (ASSAY_OPERATORS) lacks the others.
      if (!line.empty() && find_operator(line.substr(0, line.find(':'))) != nullptr)
        all.push_back(parse_case(line));
    }
  return all;
}

std::map<const Operator*, std::vector<Case>> by_operator() {
  std::map<const Operator*, std::vector<Case>> lists;
  for (Case& c : parsed()) lists[c.op].push_back(std::move(c));
  return lists;
}

// A tensor that broadcasts does so where it did.
Shape broadcast_alike(const Shape& before, const Shape& full_before, Shape full) {
  full.erase(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(full.size() - before.size()));
  const std::size_t missing = full_before.size() - before.size();
  for (std::size_t d = 0; d < full.size(); ++d)
    if (before[d] == 1 && full_before[missing + d] != 1) full[d] = 1;
  return full;
}

const Shape& first_shape(const Case& c) { return tensors_of(c).front()->shape; }

// A window that was all of the image is all of the smaller image, too.
void keep_global(const Layer& layer, Case& c) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (domain(*c.op, c.op->schema.argument_storage[i].name).kind != Domain::Kind::window) continue;
    const Shape &before = first_shape(layer.c), &now = first_shape(c);
    auto& window = std::get<std::vector<std::int64_t>>(c.arguments[i]);
    // The first tensor of a backward pass is computed from the others, later.
    if (now.size() != before.size() || window.size() > before.size()) continue;
    for (std::size_t k = 0; k < window.size(); ++k) {
      const std::size_t d = before.size() - window.size() + k;
      if (window[k] >= before[d]) window[k] = now[d];
    }
  }
}

Case with_sizes(const Layer& layer, const ShapeBinding& binding, Dtype dtype) {
  const Operator& op = *layer.c.op;
  Case c = with_shapes(op, dtype, layer.alternative, binding, nullptr);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = op.schema.argument_storage[i];
    const CaseValue& before = layer.c.arguments[i];
    if (!a.is_tensor()) {
      const bool left_out = a.optional && std::holds_alternative<None>(before);
      if (a.type != Type::dtype && (left_out || !layer.alternative.binds(i)))
        c.arguments[i] = as_dtype_takes(op, i, before, dtype);
      continue;
    }
    const auto* spec = std::get_if<TensorSpec>(&before);
    auto* now = std::get_if<TensorSpec>(&c.arguments[i]);
    if (spec == nullptr || now == nullptr) {
      c.arguments[i] = before;
      continue;
    }
    const ShapePattern* pattern = layer.alternative.pattern_of(i);
    if (pattern != nullptr && pattern->broadcast)
      now->shape =
          broadcast_alike(spec->shape, instantiate(*pattern, layer.binding), instantiate(*pattern, binding));
    if (spec->layout.kind == Layout::Kind::channels_last || spec->layout.kind == Layout::Kind::permuted)
      now->layout = spec->layout;
    if (!domain(op, a.name).own.empty()) now->dtype = spec->dtype;
  }
  keep_global(layer, c);
  return settled(std::move(c));
}

// Halves the size whose half leaves the result largest, until all fits: what is summed over shrinks first.
bool make_small_by_what_is_summed(const Layer& layer, Dtype dtype, ShapeBinding& binding,
                                  const SizeBudget& budget) {
  const Least least = least_sizes(layer, binding);
  const auto result_elements = [&] {
    const Checked checked = check_case(with_sizes(layer, binding, dtype));
    return checked.ok() ? numel(checked.outputs[0].shape) : -1;
  };
  while (!fits(layer.alternative, binding, budget)) {
    std::int64_t* best = nullptr;
    std::int64_t best_elements = -1, best_size = 0;
    for (std::int64_t* size : sizes_of(layer.alternative, binding)) {
      const auto found = least.find(size);
      const std::int64_t before = *size,
                         half = std::max(before / 2, found == least.end() ? 1 : found->second);
      if (half >= before) continue;
      *size = half;
      const std::int64_t elements = result_elements();
      *size = before;
      if (elements > best_elements || (elements == best_elements && before > best_size)) {
        best = size;
        best_elements = elements;
        best_size = before;
      }
    }
    if (best == nullptr) return false;
    const auto found = least.find(best);
    *best = std::max(*best / 2, found == least.end() ? 1 : found->second);
  }
  return true;
}

// One thing is another: a size, an attribute, an optional tensor or a layout.
Case neighbour(Draw& draw, const Layer& layer, ShapeBinding binding, Dtype dtype) {
  if (draw.chance(35)) {
    const std::vector<std::int64_t*> sizes = sizes_of(layer.alternative, binding);
    if (!sizes.empty()) {
      std::int64_t& size = *draw.pick(sizes);
      size = draw.pick(
          std::vector<std::int64_t>{size + 1, std::max<std::int64_t>(size - 1, 0), 2 * size, 1, 2, 3, 0});
    }
    return with_sizes(layer, binding, dtype);
  }
  Case c = with_sizes(layer, binding, dtype);
  std::vector<std::size_t> tensors, optional, attributes;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (std::holds_alternative<TensorSpec>(c.arguments[i])) tensors.push_back(i);
    if (a.is_tensor() && a.optional) optional.push_back(i);
    if (!a.is_tensor() && a.type != Type::dtype && !layer.alternative.binds(i)) attributes.push_back(i);
  }
  if (!attributes.empty() && draw.chance(60)) {
    redraw_attribute(draw, c, draw.pick(attributes), dtype);
  } else if (!optional.empty() && draw.chance(40)) {
    const std::size_t i = draw.pick(optional);
    if (std::holds_alternative<TensorSpec>(c.arguments[i]))
      c.arguments[i] = None{};
    else
      c.arguments[i] = with_shapes(*c.op, dtype, layer.alternative, binding, nullptr).arguments[i];
  } else if (!tensors.empty()) {
    auto& t = std::get<TensorSpec>(c.arguments[draw.pick(tensors)]);
    t.layout = draw_layout(draw, t.shape, true);
  }
  return settled(std::move(c));
}

void lay_out(Draw& draw, Case& c) {
  if (draw.chance(70)) return;
  if (draw.chance(50)) {
    // Half of the time the first one alone: who lays images out so may leave his weights as they are.
    const bool all = draw.chance(50);
    for (TensorSpec* t : tensors_of(c))
      if ((t->shape.size() == 4 || t->shape.size() == 5) && (all || t == tensors_of(c).front()))
        t->layout = {Layout::Kind::channels_last, {}};
  } else {
    draw_layouts(draw, c);
  }
}

}  // namespace

std::span<const Case> layers_of(const Operator& op) {
  static const std::map<const Operator*, std::vector<Case>> lists = by_operator();
  const auto found = lists.find(&op);
  if (found == lists.end()) return {};
  return found->second;
}

std::optional<Case> draw_layer(Draw& draw, const Operator& op, Dtype result_dtype, std::uint64_t number,
                               std::uint64_t start) {
  const std::span<const Case> layers = layers_of(op);
  if (layers.empty()) return std::nullopt;
  const std::uint64_t which = (number + start) % layers.size(), round = number / layers.size();
  const Case& c = layers[which];
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) throw std::logic_error(text(c) + ": " + match.error);
  const Layer layer{c, shape_rule(op).alternatives[static_cast<std::size_t>(match.alternative)],
                    match.binding};
  const std::uint64_t turn = which + round + start, one_in = large_one_in(layers.size());
  const bool large = turn % one_in == one_in - 1;
  const bool wide = large && (turn / one_in + which) % 2 == 1;
  const bool odd = large && (turn / one_in / 2 + which) % 2 == 1;

  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ShapeBinding binding = layer.binding;
    // What has no small form, as windows of 16 x 16 with two of them in a row, comes all the same.
    const bool at_last = attempt + 2 >= kAttempts;
    const SizeBudget& budget = large || attempt + 1 == kAttempts ? kLargeLayer
                               : at_last || draw.chance(20)      ? kMiddleLayer
                                                                 : kSmallLayer;
    const bool made = wide ? make_small_by_what_is_summed(layer, result_dtype, binding, kLargeLayer)
                           : make_small(large ? nullptr : &draw, layer, binding, budget);
    if (!made) continue;
    if (odd) make_odd(layer, binding, budget);
    Case drawn = round > 0 && !large && draw.chance(75)
                     ? neighbour(draw, layer, std::move(binding), result_dtype)
                     : with_sizes(layer, binding, result_dtype);
    if (!large && round > 0) lay_out(draw, drawn);
    drawn.data = c.data;
    if (check_case(drawn).ok()) return drawn;
  }
  return std::nullopt;
}

bool is_small(const Case& c) {
  const ShapeMatch match = match_case(c);
  return match.alternative < 0 ||
         fits(shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)], match.binding,
              kSmallLayer);
}

std::optional<Case> neighbour_of(Draw& draw, const Case& c, Dtype result_dtype) {
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) return std::nullopt;
  const Layer layer{c, shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)],
                    match.binding};
  const SizeBudget& most = fits(layer.alternative, layer.binding, kSmallLayer) ? kSmallLayer : kMiddleLayer;
  for (int attempt = 0; attempt < 8; ++attempt) {
    Case drawn = neighbour(draw, layer, layer.binding, result_dtype);
    drawn.data = c.data;
    drawn.seed = c.seed;
    const ShapeMatch sizes = match_case(drawn);
    if (sizes.alternative == match.alternative && check_case(drawn).ok() &&
        fits(layer.alternative, sizes.binding, most))
      return drawn;
  }
  return std::nullopt;
}

std::vector<std::int64_t> sizes_in(const Case& c) {
  ShapeMatch match = match_case(c);
  if (match.alternative < 0) return {};
  std::vector<std::int64_t> sizes;
  for (const std::int64_t* size :
       sizes_of(shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)], match.binding))
    sizes.push_back(*size);
  return sizes;
}

std::optional<Case> with_size(const Case& c, Dtype result_dtype, std::size_t which, std::int64_t size) {
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0 || size < 0) return std::nullopt;
  const Layer layer{c, shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)],
                    match.binding};
  ShapeBinding binding = layer.binding;
  const std::vector<std::int64_t*> sizes = sizes_of(layer.alternative, binding);
  if (which >= sizes.size()) return std::nullopt;
  *sizes[which] = size;
  const auto halve_the_others = [&](const SizeBudget& most) {
    while (!fits(layer.alternative, binding, most)) {
      std::int64_t* largest = nullptr;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        if (i != which && *sizes[i] > 1 && (largest == nullptr || *sizes[i] > *largest)) largest = sizes[i];
      if (largest == nullptr) return false;
      *largest /= 2;
    }
    return true;
  };
  if (!halve_the_others(kMiddleLayer) && !halve_the_others(kLargeLayer)) return std::nullopt;
  Case changed = with_sizes(layer, binding, result_dtype);
  changed.data = c.data;
  changed.seed = c.seed;
  if (!check_case(changed).ok()) return std::nullopt;
  return changed;
}

}  // namespace assay
