#include "paths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "case_classes.h"
#include "check_case.h"
#include "layers.h"
#include "shapes.h"
#include "tensor_copy.h"

namespace assay {
namespace {

constexpr std::int64_t kSizes[] = {16, 64, 256};
constexpr std::int64_t kAllSizes[] = {16, 64, 128};
constexpr std::int64_t kElements[] = {4'096, 32'768, 262'144};

std::optional<std::string> choice(const Case& c, std::size_t i) {
  const Argument& a = c.op->schema.argument_storage[i];
  const CaseValue& v = c.arguments[i];
  if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&v))
    return fmt::format("{} {}", a.name, fmt::join(*numbers, ","));
  if (const auto* number = std::get_if<std::int64_t>(&v))
    return fmt::format("{} {}", a.name,
                       *number < 0   ? "below 0"
                       : *number > 1 ? "above 1"
                                     : std::to_string(*number));
  if (std::holds_alternative<bool>(v) || std::holds_alternative<std::string>(v) ||
      std::holds_alternative<MemoryFormat>(v))
    return fmt::format("{} {}", a.name, text(v));
  return std::nullopt;  // numbers, dtypes, what is left out
}

std::int64_t elements_of_result(const Case& c) {
  const Checked checked = check_case(c);
  return checked.outputs.empty() ? 0 : numel(checked.outputs[0].shape);
}

// The sizes of a call by their names in the shape rule, those of a run together.
std::map<std::string, std::int64_t> named_sizes(const Case& c) {
  ShapeMatch match = match_case(c);
  std::map<std::string, std::int64_t> sizes(match.binding.sizes.begin(), match.binding.sizes.end());
  for (const auto& [name, run] : match.binding.runs) {
    std::int64_t n = 1;
    for (const std::int64_t size : run) n *= size;
    if (!run.empty()) sizes[name] = n;
  }
  return sizes;
}

bool all_from(const Case& c, std::int64_t least) {
  const std::map<std::string, std::int64_t> sizes = named_sizes(c);
  return sizes.size() > 1 && std::ranges::all_of(sizes, [least](const auto& s) { return s.second >= least; });
}

void add_if_any(std::span<const Case> layers, std::vector<Path>& all, Path path) {
  if (std::ranges::any_of(layers, path.takes)) all.push_back(std::move(path));
}

std::vector<std::string> classes_of_all(std::span<const Case> layers) {
  std::set<std::string> all;
  for (const Case& c : layers)
    for (const std::string& name : classes_of(c))
      if (!is_of_data(name) && !name.starts_with("result's ")) all.insert(name);
  return {all.begin(), all.end()};
}

// With this dtype in place of the layer's own.
bool is_allowed(Case c, Dtype result_dtype) {
  const std::vector<TensorSpec*> tensors = tensors_of(c);
  if (tensors.empty()) return true;
  const Dtype own = tensors[0]->dtype;
  for (TensorSpec* t : tensors)
    if (t->dtype == own) t->dtype = result_dtype;
  for (CaseValue& v : c.arguments)
    if (auto* dtype = std::get_if<Dtype>(&v)) *dtype = result_dtype;
  const Checked checked = check_case(c);
  return checked.ok() && checked.outputs[0].computed_in == result_dtype;
}

void add_sizes(std::span<const Case> layers, std::vector<Path>& all) {
  std::set<std::string> names;
  for (const Case& c : layers)
    for (const auto& [name, size] : named_sizes(c)) names.insert(name);
  for (const std::string& name : names)
    for (const std::int64_t least : kSizes)
      add_if_any(layers, all, {fmt::format("{} from {} on", name, least), [name, least](const Case& c) {
                                 const std::map<std::string, std::int64_t> sizes = named_sizes(c);
                                 const auto found = sizes.find(name);
                                 return found != sizes.end() && found->second >= least;
                               }});
  for (const std::int64_t least : kAllSizes)
    add_if_any(layers, all, {fmt::format("all sizes from {} on", least), [least](const Case& c) {
                               return all_from(c, least);
                             }});
  for (const std::int64_t least : kElements)
    add_if_any(layers, all, {fmt::format("results of {} elements and more", least), [least](const Case& c) {
                               return elements_of_result(c) >= least;
                             }});
}

}  // namespace

std::string attributes_of(const Case& c) {
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) return {};
  const ShapeAlternative& alternative =
      shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)];
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < c.arguments.size(); ++i)  // lists that the shape rule knows are shapes
    if (!alternative.binds(i) || !c.op->schema.argument_storage[i].list ||
        domain(*c.op, c.op->schema.argument_storage[i].name).is_spatial())
      if (const std::optional<std::string> part = choice(c, i)) parts.push_back(*part);
  for (const std::string& run : alternative.runs())
    if (const auto found = match.binding.runs.find(run);
        alternative.window_in(run) != nullptr && found != match.binding.runs.end())
      parts.push_back(fmt::format("window {}", fmt::join(found->second, ",")));
  const std::vector<const TensorSpec*> tensors = tensors_of(c);
  if (!tensors.empty()) parts.push_back(fmt::format("{} dimensions", tensors[0]->shape.size()));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::vector<std::string> ordinary_classes(const Operator& op) { return classes_of_all(layers_of(op)); }

std::vector<Path> paths_of(const Operator& op, std::optional<Dtype> result_dtype) {
  std::vector<Case> layers;
  for (const Case& c : layers_of(op))
    if (!result_dtype || is_allowed(c, *result_dtype)) layers.push_back(c);
  std::vector<Path> all;
  std::set<std::string> attributes;
  for (const Case& c : layers)
    if (const std::string own = attributes_of(c); attributes.insert(own).second)
      all.push_back({own, [own](const Case& other) { return attributes_of(other) == own; }});
  for (const std::string& name : classes_of_all(layers))
    all.push_back({name, [name](const Case& c) { return std::ranges::count(classes_of(c), name) > 0; }});
  add_sizes(layers, all);
  return all;
}

}  // namespace assay
