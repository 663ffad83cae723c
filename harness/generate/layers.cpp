#include "layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "check_case.h"
#include "layer_lists.h"
#include "layouts.h"
#include "shapes.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr SizeBudget kSmallLayer{8'192, 300'000};
constexpr SizeBudget kMiddleLayer{65'536, 1 << 20};
constexpr SizeBudget kLargeLayer{1 << 19, 8 << 20};
constexpr std::uint64_t kLargeOneIn = 5;

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

// A layer with what its shape rule makes of it.
struct Layer {
  const Case& c;
  const ShapeAlternative& alternative;
  ShapeBinding binding;
};

// What a size of the binding must not fall below.
using Least = std::map<const std::int64_t*, std::int64_t>;

// Windows are given by a list of ints, or by a tensor's dimensions. An image has room for two of them.
Least least_sizes(const Layer& layer, ShapeBinding& binding) {
  Least least;
  for (const std::string& name : layer.alternative.runs())
    if (const std::string* in = layer.alternative.window_in(name)) {
      const Shape& window = binding.runs.at(name);
      Shape& image = binding.runs.at(*in);
      for (std::size_t d = 0; d < window.size(); ++d) {
        least[&window[d]] = window[d];
        least[&image[d]] = std::min(image[d], window[d] == 1 ? 4 : 2 * window[d]);
      }
    }
  for (std::size_t i = 0; i < layer.c.arguments.size(); ++i) {
    if (domain(*layer.c.op, layer.c.op->schema.argument_storage[i].name).kind != Domain::Kind::window)
      continue;
    const auto& window = std::get<std::vector<std::int64_t>>(layer.c.arguments[i]);
    const std::vector<DimPattern>& dims = layer.alternative.inputs.front().dims;
    for (std::size_t k = 0; k < 2 && k < dims.size(); ++k) {  // from the last one on
      const DimPattern& dim = dims[dims.size() - 1 - k];
      if (dim.kind != DimPattern::Kind::symbol || window.empty()) continue;
      std::int64_t& image = binding.sizes.at(dim.name);
      const std::int64_t size = window[k < window.size() ? window.size() - 1 - k : 0];
      least[&image] = size >= image ? 2 : std::min(image, 2 * size);
    }
  }
  return least;
}

// Halves sizes until all fits: the largest one again and again, or with `draw` any of them.
bool make_small(Draw* draw, const Layer& layer, ShapeBinding& binding, const SizeBudget& budget) {
  const Least least = least_sizes(layer, binding);
  std::vector<std::int64_t*> sizes = sizes_of(layer.alternative, binding);
  const auto bound = [&](const std::int64_t* size) {
    const auto found = least.find(size);
    return found == least.end() ? std::int64_t{1} : found->second;
  };
  while (!fits(layer.alternative, binding, budget)) {
    std::erase_if(sizes, [&](const std::int64_t* size) { return *size <= bound(size); });
    if (sizes.empty()) return false;
    std::int64_t* size = draw != nullptr
                             ? draw->pick(sizes)
                             : *std::ranges::max_element(sizes, {}, [](const std::int64_t* s) { return *s; });
    *size = std::max(*size / 2, bound(size));
  }
  return true;
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
      if (a.type != Type::dtype && !layer.alternative.binds(i)) c.arguments[i] = before;
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
    for (TensorSpec* t : tensors_of(c))
      if (t->shape.size() == 4 || t->shape.size() == 5) t->layout = {Layout::Kind::channels_last, {}};
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

std::optional<Case> draw_layer(Draw& draw, const Operator& op, Dtype result_dtype, std::uint64_t number) {
  const std::span<const Case> layers = layers_of(op);
  if (layers.empty()) return std::nullopt;
  const Case& c = layers[number % layers.size()];
  const std::uint64_t round = number / layers.size();
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) throw std::logic_error(text(c) + ": " + match.error);
  const Layer layer{c, shape_rule(op).alternatives[static_cast<std::size_t>(match.alternative)],
                    match.binding};
  const bool large = (number + round) % kLargeOneIn == kLargeOneIn - 1;

  for (int attempt = 0; attempt < 8; ++attempt) {
    ShapeBinding binding = layer.binding;
    if (!make_small(large ? nullptr : &draw, layer, binding,
                    large             ? kLargeLayer
                    : draw.chance(20) ? kMiddleLayer
                                      : kSmallLayer))
      continue;
    Case drawn = round > 0 && !large && draw.chance(75)
                     ? neighbour(draw, layer, std::move(binding), result_dtype)
                     : with_sizes(layer, binding, result_dtype);
    if (!large && round > 0) lay_out(draw, drawn);
    drawn.data = c.data;
    if (check_case(drawn).ok()) return drawn;
  }
  return std::nullopt;
}

}  // namespace assay
