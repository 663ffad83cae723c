#include "region_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "graph/graph_parser.h"
#include "vocabulary/case.h"
#include "vocabulary/schema.h"

namespace assay {
namespace {

std::string bracketed(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

void add_to(std::string& list, const std::string& item, const char* between) {
  list += (list.empty() ? "" : between) + item;
}

constexpr std::size_t kFirstLine = 4;  // after the schema, its shapes and a brace

// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

}  // namespace

std::string GraphNames::name(const std::string& called) {
  std::string name;
  for (const char c : called) {
    const bool fits =
        std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
    if (fits || (!name.empty() && name.back() != '_')) name += fits ? c : '_';
  }
  while (name.ends_with('_')) name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "m" + name;
  if (is_literal_word(name)) name += "_of";
  std::string free = name;
  for (int n = 2; called_.contains(free); ++n) free = fmt::format("{}_{}", name, n);
  called_[free] = called;
  return free;
}

void RegionText::statement(const std::vector<std::string>& results, const std::string& expression,
                           std::string called) {
  body_ += fmt::format("  {} = {}\n", fmt::join(results, ", "), expression);
  statements_.push_back(std::move(called));
}

void RegionText::result(const std::string& name, const Shape& shape) {
  add_to(results_, name, ", ");
  add_to(result_shapes_, bracketed(shape), ", ");
  ++result_count_;
}

void RegionText::write_out_numbers() {
  if (arguments_.size() <= kMaxArguments) return;
  std::string statements;
  std::vector<std::string> called;
  for (const Argument& a : arguments_) {
    if (!a.number) continue;
    statements += fmt::format("  {} = {}\n", a.name, assay::text(CaseValue(*a.number)));
    called.push_back(names().at(a.name));
  }
  std::erase_if(arguments_, [](const Argument& a) { return a.number.has_value(); });
  body_ = statements + body_;
  statements_.insert(statements_.begin(), called.begin(), called.end());
}

// The smallest parameters of one dtype lie one after the other in one argument.
void RegionText::put_together() {
  if (arguments_.size() <= kMaxArguments) return;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].is_parameter && arguments_[i].within.empty()) all.push_back(i);
  if (all.size() < 2) return;
  const Dtype dtype = arguments_[all[0]].data.dtype;
  std::erase_if(all, [&](std::size_t i) { return arguments_[i].data.dtype != dtype; });
  std::ranges::stable_sort(all, {}, [&](std::size_t i) { return arguments_[i].data.numel(); });
  all.resize(std::min(all.size(), arguments_.size() - kMaxArguments + 1));
  std::ranges::sort(all);
  Argument together{.name = name("parameters")};
  std::string statements;
  std::vector<std::string> called;
  std::int64_t offset = 0;
  for (const std::size_t i : all) {
    const TensorData& t = arguments_[i].data;
    Shape strides(t.shape.size());
    std::int64_t step = 1;
    for (std::size_t d = strides.size(); d-- > 0; step *= t.shape[d]) strides[d] = step;
    statements += fmt::format("  {} = as_strided({}, {}, {}, {})\n", arguments_[i].name, together.name,
                              bracketed(t.shape), bracketed(strides), offset);
    called.push_back(names().at(arguments_[i].name));
    offset += t.numel();
    together.data.memory.insert(together.data.memory.end(), t.memory.begin(), t.memory.end());
  }
  TensorData joined(dtype, {offset});
  joined.memory = std::move(together.data.memory);
  together.data = std::move(joined);
  for (std::size_t n = all.size(); n-- > 0;)
    arguments_.erase(arguments_.begin() + static_cast<std::ptrdiff_t>(all[n]));
  arguments_.push_back(std::move(together));
  body_ = statements + body_;
  statements_.insert(statements_.begin(), called.begin(), called.end());
}

RegionText::Written RegionText::written() && {
  put_together();
  write_out_numbers();
  std::string arguments, shapes;
  for (const Argument& a : arguments_) {
    if (a.number) {
      add_to(arguments, "float " + a.name, ", ");
      continue;
    }
    add_to(arguments, "Tensor " + a.name, ", ");
    add_to(shapes, fmt::format("{}={}", a.name, bracketed(a.data.shape)), " ");
  }
  std::string results = "Tensor";
  for (std::size_t r = 1; r < result_count_; ++r) results += ", Tensor";
  if (result_count_ > 1) results = "(" + results + ")";
  const std::string rest = fmt::format("({}) -> {}\n  shapes {} -> {}\n{{\n{}  return {}\n}}", arguments,
                                       results, shapes, result_shapes_, body_, results_);
  return {fmt::format("assay::region_{:016x}{}", hash_of(rest), rest), std::move(arguments_),
          std::move(statements_), kFirstLine};
}

}  // namespace assay
