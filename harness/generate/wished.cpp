#include "wished.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "arguments.h"
#include "check_case.h"
#include "layouts.h"
#include "random_case.h"
#include "tensor_copy.h"

namespace assay {
namespace {

constexpr int kTries = 64;  // draws of one value until it is of the class that is wished for

const std::string* find(const Factors& wish, const std::string& name) {
  const auto found = wish.find(name);
  return found == wish.end() ? nullptr : &found->second;
}

const SizeClass* class_named(std::string_view name) {
  const auto found = std::ranges::find(size_classes(), name, &SizeClass::name);
  return found == size_classes().end() ? nullptr : &*found;
}

// Numbers that kernels have thresholds at come more often than others of their class.
std::int64_t draw_of_class(Draw& draw, const SizeClass& c) {
  // Kernels take two, three, four and eight of a kind together.
  if (c.name == "2-8")
    return draw.pick(std::array<std::int64_t, 8>{2, 2, 2, 3, 4, 8, draw.range(2, 8), draw.range(2, 8)});
  if (c.name == "beside a vector") return draw.pick(std::array{16, 32, 64}) + draw.range(-1, 1);
  if (c.least >= 1024)
    return draw.pick(
        std::array<std::int64_t, 6>{1024, 1025, 1536, 2048, draw.range(1024, 4096), draw.range(1024, 4096)});
  if (c.least >= 256)
    return draw.pick(std::array<std::int64_t, 6>{256, 257, 512, 768, 1000, draw.range(256, 1023)});
  if (c.least >= 64)
    return draw.pick(std::array<std::int64_t, 6>{96, 127, 128, 129, 224, draw.range(66, 255)});
  for (;;)
    if (const std::int64_t size = draw.range(c.least, c.greatest); size_class(size) == c.name) return size;
}

std::int64_t least_of(const SizeClass& c) { return c.least == 64 ? 66 : c.least; }

// How many dimensions there are at least where tensors are to broadcast so.
std::size_t least_rank(const Factors& wish) {
  std::size_t least = 0;
  for (const auto& [factor, how] : wish)
    if (factor.starts_with("broadcast "))
      least = std::max<std::size_t>(least, how == "one between" || how == "several apart" ? 3
                                           : how == "as it is"                            ? 0
                                           : how == "the last" || how == "no dimensions"  ? 1
                                                                                          : 2);
  return least;
}

std::vector<std::size_t> lengths_wished(Draw* draw, const ShapeAlternative& alternative,
                                        const Factors& wish) {
  const std::vector<std::string> runs = alternative.runs();
  std::vector<std::size_t> lengths =
      draw != nullptr ? draw_runs(*draw, alternative) : std::vector<std::size_t>(runs.size(), 1);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (const std::string* in = alternative.window_in(runs[r])) {
      lengths[r] = lengths[static_cast<std::size_t>(std::ranges::find(runs, *in) - runs.begin())];
      continue;
    }
    if (const std::string* rank = find(wish, "rank *" + runs[r]); rank != nullptr && rank->size() == 1)
      lengths[r] = static_cast<std::size_t>((*rank)[0] - '0');
    else if (rank != nullptr)
      lengths[r] = kMaxRank + (draw == nullptr ? 0 : static_cast<std::size_t>(draw->range(0, 1)));
    else if (r == 0)
      lengths[r] = std::max(lengths[r], least_rank(wish));
    // A size that is wished for is that of a dimension.
    if (find(wish, "size *" + runs[r]) != nullptr || alternative.some(runs[r]))
      lengths[r] = std::max<std::size_t>(lengths[r], 1);
  }
  return lengths;
}

struct WishedSize {
  std::int64_t* size;
  const SizeClass* of;
};

std::vector<WishedSize> wished_sizes(const ShapeAlternative& alternative, ShapeBinding& binding,
                                     const Factors& wish) {
  std::vector<WishedSize> all;
  const auto add = [&](std::int64_t& size, const std::string& name) {
    if (const std::string* value = find(wish, name))
      if (const SizeClass* c = class_named(*value)) all.push_back({&size, c});
  };
  for (auto& [symbol, size] : binding.sizes) add(size, "size " + symbol);
  for (auto& [name, dims] : binding.runs)
    if (!dims.empty() && alternative.window_in(name) == nullptr) add(dims.back(), "size *" + name);
  return all;
}

void draw_windows_wished(Draw& draw, const ShapeAlternative& alternative, const Factors& wish,
                         ShapeBinding& binding) {
  for (auto& [name, window] : binding.runs) {
    if (alternative.window_in(name) == nullptr) continue;
    const std::string* wished = find(wish, "window " + name);
    const std::int64_t same = draw_window(draw);
    const std::int64_t even = draw.pick(std::array{2, 4}), odd = draw.pick(std::array{3, 5, 7});
    for (std::size_t d = 0; d < window.size(); ++d)
      window[d] = wished == nullptr                  ? draw_window(draw)
                  : *wished == "1 by an even number" ? (d == 0 ? 1 : even)
                  : *wished == "1 by an odd number"  ? (d == 0 ? 1 : odd)
                  : *wished == "an even number by 1" ? (d == 0 ? even : 1)
                  : *wished == "an odd number by 1"  ? (d == 0 ? odd : 1)
                  : *wished == "all above 3"         ? draw.pick(std::array{5, 7})
                  : wished->starts_with("all ")      ? (*wished)[4] - '0'
                                                     : same + static_cast<std::int64_t>(d % 2);
    if (wished != nullptr && *wished == "all above 3")
      std::ranges::fill(window, window.empty() ? 0 : window[0]);
  }
  for (const auto& [size, in] : alternative.windows_of_sizes()) binding.sizes[size] = draw_window(draw);
}

// Mostly one dimension is 1, or one is missing: of what is left more can be seen.
Shape broadcast_to(Draw& draw, const Shape& full, std::string_view how) {
  Shape shape = full;
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  const auto make_one = [&](std::int64_t d) { shape[static_cast<std::size_t>(d)] = 1; };
  if (how == "no dimensions") return {};
  if (how == "fewer dimensions and ones" && last > 0) {
    shape.erase(shape.begin(), shape.begin() + (draw.chance(60) ? 1 : draw.range(1, last)));
    shape[static_cast<std::size_t>(draw.range(0, static_cast<std::int64_t>(shape.size()) - 1))] = 1;
  }
  if (how == "fewer dimensions" && last > 0)
    shape.erase(shape.begin(), shape.begin() + (draw.chance(60) ? 1 : draw.range(1, last)));
  if (how == "the first" && last >= 0) make_one(0);
  if (how == "the last" && last >= 0) make_one(last);
  if (how == "one between" && last >= 2) make_one(draw.range(1, last - 1));
  if (how == "several" && last >= 1) {
    const std::int64_t first = draw.range(0, last - 1);
    const std::int64_t end = draw.range(first + 1, last);
    for (std::int64_t d = first; d <= end; ++d) make_one(d);
  }
  if (how == "several apart" && last >= 2) {
    const std::int64_t first = draw.range(0, last - 2);
    make_one(first);
    make_one(draw.range(first + 2, last));
  }
  return shape;
}

void shape_tensors(Draw& draw, Case& c, const Case& plain, const ShapeAlternative& alternative,
                   const ShapeBinding& binding, const Factors& wish) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (!a.is_tensor()) continue;
    if (const std::string* layout = find(wish, fmt::format("layout {}", a.name))) {
      if (*layout == "none" && a.optional)
        c.arguments[i] = None{};
      else if (std::holds_alternative<None>(c.arguments[i]))
        c.arguments[i] = plain.arguments[i];
    }
    auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
    const ShapePattern* pattern = alternative.pattern_of(i);
    const std::string* how = find(wish, fmt::format("broadcast {}", a.name));
    if (t != nullptr && how != nullptr && pattern != nullptr && pattern->broadcast)
      t->shape = broadcast_to(draw, instantiate(*pattern, binding), *how);
  }
}

void give_attributes(Draw& draw, Case& c, Dtype dtype, const ShapeAlternative& alternative,
                     const Factors& wish) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (a.is_tensor() || a.type == Type::dtype || alternative.binds(i)) continue;
    const std::string* value = find(wish, std::string(a.name));
    for (int attempt = 0; value != nullptr && attempt < kTries && value_class(c, i) != *value; ++attempt)
      redraw_attribute(draw, c, i, dtype);
  }
}

void give_layouts(Draw& draw, Case& c, const Factors& wish) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
    if (t == nullptr) continue;
    const std::string* kind = find(wish, fmt::format("layout {}", c.op->schema.argument_storage[i].name));
    if (kind == nullptr) continue;
    t->layout = {};
    for (int attempt = 0; attempt < kTries && layout_class(t->layout) != *kind; ++attempt)
      t->layout = draw_layout(draw, t->shape, true);
    if (layout_class(t->layout) != *kind) t->layout = {};
  }
}

}  // namespace

bool may_fit(const ShapeAlternative& alternative, const Factors& wish, const SizeBudget& budget) {
  ShapeBinding binding = with_runs(alternative, lengths_wished(nullptr, alternative, wish));
  for (const WishedSize& w : wished_sizes(alternative, binding, wish)) *w.size = least_of(*w.of);
  return fits(alternative, binding, budget);
}

// Some get as many equal sizes as their wish leaves: what takes one dimension for another of its length, or a tensor that broadcasts along
// columns for one that does along rows, is right where they differ, for shapes forbid it then. Nothing is drawn for it.
void make_alike(const ShapeAlternative& alternative, const std::vector<WishedSize>& wished,
                const std::vector<std::int64_t*>& free, const SizeBudget& budget, ShapeBinding& binding) {
  constexpr std::int64_t kLargestAlike = 64;
  const std::vector<std::string> runs = alternative.runs();
  if (!alternative.windows_of_sizes().empty() ||
      std::ranges::any_of(runs, [&](const std::string& r) { return alternative.window_in(r) != nullptr; }))
    return;
  std::int64_t sum = 0;
  for (const std::int64_t* size : sizes_of(alternative, binding)) sum += *size;
  const auto becomes = [&](std::int64_t& other, std::int64_t size) {
    if (size < 2 || size > kLargestAlike) return;
    const std::int64_t before = std::exchange(other, size);
    if (!fits(alternative, binding, budget)) other = before;
  };
  if (sum % 2 == 0)
    for (std::size_t w = 1; w < wished.size(); ++w)
      for (std::size_t first = 0; first < w; ++first)
        if (wished[w].of == wished[first].of) becomes(*wished[w].size, *wished[first].size);
  if (sum % 3 != 0) return;
  for (std::int64_t* other : free) becomes(*other, wished.empty() ? *free[0] : *wished[0].size);
}

std::optional<ShapeBinding> draw_wished_binding(Draw& draw, const ShapeAlternative& alternative,
                                                const Factors& wish, const SizeBudget& budget) {
  ShapeBinding binding = with_runs(alternative, lengths_wished(&draw, alternative, wish));
  draw_windows_wished(draw, alternative, wish, binding);
  const std::vector<WishedSize> wished = wished_sizes(alternative, binding, wish);
  std::vector<std::int64_t*> free = free_sizes(alternative, binding);
  std::erase_if(free, [&](const std::int64_t* size) {
    return std::ranges::any_of(wished, [&](const WishedSize& w) { return w.size == size; });
  });
  // An image that nobody wished to be of some size has room for its window.
  std::map<const std::int64_t*, std::int64_t> room;
  for (auto& [name, window] : binding.runs)
    if (const std::string* in = alternative.window_in(name)) {
      Shape& image = binding.runs.at(*in);
      for (std::size_t d = 0; d < window.size(); ++d)
        if (std::ranges::count(free, &image[d]) > 0)
          room[&image[d]] = image[d] = std::max<std::int64_t>(window[d], 1);
    }
  for (const auto& [name, in] : alternative.windows_of_sizes())
    if (const auto image = binding.sizes.find(in);
        image != binding.sizes.end() && std::ranges::count(free, &image->second) > 0)
      room[&image->second] = image->second += 2 * binding.sizes[name];
  for (const WishedSize& w : wished) *w.size = least_of(*w.of);
  if (!fits(alternative, binding, budget)) return std::nullopt;
  for (const WishedSize& w : wished) {
    *w.size = draw_of_class(draw, *w.of);
    if (!fits(alternative, binding, budget)) *w.size = least_of(*w.of);
  }
  for (const std::int64_t i : draw.permutation(free.size())) {
    std::int64_t& size = *free[static_cast<std::size_t>(i)];
    const std::int64_t least = room.contains(&size) ? room[&size] : 1;
    // What is 1 in all tensors is stretched in none.
    size = std::max(draw.chance(50) ? draw.range(least_rank(wish) > 0 ? 2 : 1, 8) : draw_size(draw), least);
    while (size > least && !fits(alternative, binding, budget)) size = std::max(size / 2, least);
  }
  make_alike(alternative, wished, free, budget, binding);
  return binding;
}

std::optional<Case> wished_case(Draw& draw, const Operator& op, Dtype dtype,
                                const ShapeAlternative& alternative, const Factors& wish,
                                const SizeBudget& budget) {
  const std::optional<ShapeBinding> binding = draw_wished_binding(draw, alternative, wish, budget);
  if (!binding) return std::nullopt;
  Case c = with_shapes(op, dtype, alternative, *binding, &draw);
  shape_tensors(draw, c, with_shapes(op, dtype, alternative, *binding, nullptr), alternative, *binding, wish);
  draw_attributes(draw, c, dtype);
  give_attributes(draw, c, dtype, alternative, wish);
  c = settled(std::move(c));
  draw_dtypes(draw, c, dtype);
  const std::string* dtypes = find(wish, "dtypes");
  for (int attempt = 0; dtypes != nullptr && *dtypes == "differ" && attempt < kTries / 4; ++attempt) {
    const Factors now = factors_of(c);
    if (const auto found = now.find("dtypes"); found == now.end() || found->second == *dtypes) break;
    draw_dtypes(draw, c, dtype);
  }
  draw_layouts(draw, c);
  give_layouts(draw, c, wish);
  const std::string* data = find(wish, "data");
  c.data = data != nullptr ? *data : draw_family(draw, op);
  if (c.data == "tiny") keep_epsilon_from_zero(c);
  const Checked checked = check_case(c);
  if (!checked.ok() || checked.outputs[0].computed_in != dtype) return std::nullopt;
  // Shapes of results that are computed are known only now: those of a transposed convolution with strides, of a resized image.
  const auto fits_too = [&](const Checked::Output& o) { return numel(o.shape) <= budget.elements; };
  if (!std::ranges::all_of(checked.outputs, fits_too)) return std::nullopt;
  return c;
}

}  // namespace assay
