#include "case_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "check_case.h"
#include "layouts.h"
#include "masked.h"
#include "shapes.h"
#include "tensor_copy.h"

namespace assay {
namespace {

using Classes = std::set<std::string>;

constexpr std::int64_t kVector =
    8;  // of this many elements are vectors or parts of them, whatever the ISA level
constexpr std::int64_t kForThreads = 32'768;  // elements from which on kernels split their work

std::string_view kind_of(const Layout& layout) {
  constexpr std::string_view kNames[] = {"contiguous", "channels_last", "permuted", "step2",
                                         "offset",     "expanded",      "strides"};
  return kNames[static_cast<std::size_t>(layout.kind)];
}

std::string class_of(const Layout& layout) { return fmt::format("layout {}", kind_of(layout)); }

std::string rank_class(std::size_t rank) {
  return rank > kMaxRank ? fmt::format("shape of more than {} dimensions", kMaxRank)
                         : fmt::format("shape of {} dimensions", rank);
}

// Where the last dimension ends beside a vector's edge.
void add_edge(Classes& all, const Shape& shape) {
  if (shape.empty() || shape.back() < kVector - 1) return;
  const std::int64_t rest = shape.back() % kVector;
  if (rest == 0) all.emplace("shape of whole vectors");
  if (rest == 1) all.emplace("shape of vectors and one more");
  if (rest == kVector - 1) all.emplace("shape of vectors but for one");
}

void add_tensors(Classes& all, const Case& c, const std::vector<Shape>& results) {
  const std::vector<const TensorSpec*> tensors = tensors_of(c);
  bool one_element = !tensors.empty(), empty = false, differ = false;
  for (const TensorSpec* t : tensors) {
    const std::int64_t n = numel(t->shape);
    one_element = one_element && n == 1;
    empty = empty || n == 0;
    differ = differ || t->dtype != tensors.front()->dtype;
    if (t->shape.empty()) all.emplace("shape of a scalar tensor");
    if (n >= kForThreads) all.emplace("shape for several threads");
    add_edge(all, t->shape);
    all.insert(class_of(t->layout));
  }
  if (!tensors.empty()) all.insert(rank_class(tensors.front()->shape.size()));
  if (one_element) all.emplace("shape of one element");
  if (differ) all.emplace("dtypes that differ");
  if (!empty) return;
  // A sum of no terms is not the same as no sum.
  const bool nothing = std::ranges::all_of(results, [](const Shape& s) { return numel(s) == 0; });
  all.emplace(nothing ? "shape empty" : "shape empty, results not");
}

void add_broadcasting(Classes& all, const Case& c) {
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) return;
  const auto& alternatives = shape_rule(*c.op).alternatives;
  if (alternatives.size() > 1) all.insert(fmt::format("shape rule {}", match.alternative + 1));
  const Shape* first = nullptr;
  for (const ShapePattern& p : alternatives[static_cast<std::size_t>(match.alternative)].inputs) {
    if (!p.broadcast || p.argument < 0) continue;
    const auto* t = std::get_if<TensorSpec>(&c.arguments[static_cast<std::size_t>(p.argument)]);
    if (t == nullptr) continue;
    if (first == nullptr) first = &t->shape;
    if (t->shape != *first)
      all.emplace(t->shape.size() == first->size() ? "shapes that broadcast"
                                                   : "shapes that broadcast, of fewer dimensions");
  }
}

struct ClassOfValue {
  std::string operator()(None) const { return "none"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(std::int64_t v) const {
    return v < 0 ? "below 0" : v > 1 ? "above 1" : v == 1 ? "1" : "0";
  }
  std::string operator()(double) const { return "given"; }
  std::string operator()(Dtype) const { return "given"; }
  std::string operator()(MemoryFormat v) const { return fmt::format("format {}", static_cast<int>(v)); }
  std::string operator()(const TensorSpec&) const { return "given"; }
  template <class T>
  std::string operator()(const std::vector<T>& v) const {
    return v.empty() ? "no items" : v.size() == 1 ? "one item" : "several items";
  }
};

// Of strides, paddings, dilations and windows the numbers count: for 3 and 3, or 1 and 1, kernels have paths of their own.
std::string numbers_class(std::span<const std::int64_t> numbers) {
  if (std::ranges::any_of(numbers, [&](std::int64_t n) { return n != numbers[0]; })) return "that differ";
  return numbers[0] < 0 ? "below 0" : numbers[0] > 3 ? "above 3" : fmt::format("all {}", numbers[0]);
}

// Windows that are dimensions of a tensor, as a convolution's weight has them.
void add_windows(Classes& all, const Case& c) {
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) return;
  const ShapeAlternative& alternative =
      shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)];
  for (const std::string& run : alternative.runs())
    if (const auto found = match.binding.runs.find(run);
        alternative.window_in(run) != nullptr && found != match.binding.runs.end() && !found->second.empty())
      all.insert("window " + numbers_class(found->second));
}

void add_argument(Classes& all, const Case& c, std::size_t i) {
  const std::string_view name = c.op->schema.argument_storage[i].name;
  all.insert(fmt::format("{} {}", name, std::visit(ClassOfValue{}, c.arguments[i])));
  const auto* numbers = std::get_if<std::vector<std::int64_t>>(&c.arguments[i]);
  if (numbers != nullptr && !numbers->empty() && domain(*c.op, name).is_spatial())
    all.insert(fmt::format("{} {}", name, numbers_class(*numbers)));
}

// Masks of every kind (masked.h), along what most kernels treat as rows, and along another dimension.
void add_masks(Classes& all, const Case& c) {
  if (c.data != kMasked) return;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
    if (t == nullptr) continue;
    const std::vector<std::size_t> axes = reduced_axes(c, i);
    if (has_each_mask(t->shape, axes))
      all.emplace(axes.back() + 1 == t->shape.size() ? "data masked in every way, to the last dimension"
                                                     : "data masked in every way, along others");
  }
}

}  // namespace

std::vector<std::string> classes_of_argument(const Case& c, std::size_t argument) {
  Classes all;
  add_argument(all, c, argument);
  if (const auto* t = std::get_if<TensorSpec>(&c.arguments[argument])) all.insert(class_of(t->layout));
  return {all.begin(), all.end()};
}

std::vector<std::string> classes_of_results(const Case& c) {
  Classes all;
  for (const Layout& layout : output_layouts(c)) all.insert("result's " + class_of(layout));
  return {all.begin(), all.end()};
}

bool is_of_data(std::string_view name) { return name.starts_with("data "); }

std::vector<std::string> classes_of(const Case& c) {
  Classes all{fmt::format("data {}", c.data)};
  add_masks(all, c);
  std::vector<Shape> results;
  for (Checked::Output& output : check_case(c).outputs) results.push_back(std::move(output.shape));
  add_tensors(all, c, results);
  add_broadcasting(all, c);
  for (const Layout& layout : output_layouts(c, results)) all.insert("result's " + class_of(layout));
  add_windows(all, c);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) add_argument(all, c, i);
  return {all.begin(), all.end()};
}

}  // namespace assay
