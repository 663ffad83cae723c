#include "factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "check_case.h"
#include "tensor_copy.h"
#include "windows.h"

namespace assay {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;

bool is_beside_vector(std::int64_t size) {
  return std::ranges::any_of(std::array<std::int64_t, 3>{16, 32, 64},
                             [size](std::int64_t width) { return std::abs(size - width) <= 1; });
}

constexpr std::int64_t kMostOfWindows = 3;

// Windows of 1, 2 and 3 have code of their own, those of 1 x N and N x 1, too, and so have strides, paddings and dilations of 0, 1
// and 2. An even window has no middle, so that half of it is one too much for its padding.
std::string numbers(const std::vector<std::int64_t>& list, std::int64_t most) {
  if (list.empty()) return "no items";
  if (std::ranges::any_of(list, [&](std::int64_t n) { return n != list[0]; })) {
    const bool are_windows = most == kMostOfWindows && list.size() == 2;
    const auto parity = [](std::int64_t n) { return n % 2 == 0 ? "an even number" : "an odd number"; };
    return are_windows && list[0] == 1   ? fmt::format("1 by {}", parity(list[1]))
           : are_windows && list[1] == 1 ? fmt::format("{} by 1", parity(list[0]))
                                         : "that differ";
  }
  return list[0] > most ? fmt::format("all above {}", most) : fmt::format("all {}", list[0]);
}

std::string real(double v) {
  if (v == 0) return "0";
  if (v == 1) return "1";
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return "infinite";
  const double size = std::abs(v);
  return size < 1e-9 ? "tiny" : size > 1e9 ? "huge" : v < 0 ? "negative" : "usual";
}

// First, last or between; kernels count negative ones from the end in one place.
std::string axis(std::int64_t v, std::size_t rank) {
  const auto n = std::max<std::int64_t>(static_cast<std::int64_t>(rank), 1);
  const std::int64_t from_front = v < 0 ? v + n : v;
  return from_front == n - 1 ? "last" : from_front == 0 ? "first" : "between";
}

struct ValueClass {
  const Case& c;
  const Domain& d;
  bool is_padding;

  std::size_t rank() const {
    const auto* t =
        d.of < 0 ? nullptr : std::get_if<TensorSpec>(&c.arguments[static_cast<std::size_t>(d.of)]);
    return t == nullptr ? 0 : t->shape.size();
  }
  std::string operator()(None) const { return "none"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(std::int64_t v) const {
    if (d.has_axes()) return axis(v, rank());
    return v < 0 ? "below 0" : v > 1 ? "above 1" : std::to_string(v);
  }
  std::string operator()(double v) const { return real(v); }
  std::string operator()(Dtype v) const { return std::string(name(v)); }
  std::string operator()(MemoryFormat v) const { return text(CaseValue{v}); }
  std::string operator()(const TensorSpec&) const { return "given"; }
  std::string operator()(const std::vector<std::int64_t>& v) const {
    // Independent numbers seldom are what a window that is not square has around it in networks.
    if (is_padding && v.size() > 1 && numbers(v, 2) == "that differ" && v == half_of_window(c))
      return "half of a window";
    if (d.is_spatial()) return numbers(v, d.kind == Domain::Kind::window ? kMostOfWindows : 2);
    if (d.has_axes() && v.size() == 1) return axis(v[0], rank());
    return v.empty() ? "no items" : v.size() == 1 ? "one item" : "several items";
  }
  template <class T>
  std::string operator()(const std::vector<T>& v) const {
    return v.empty() ? "no items" : v.size() == 1 ? "one item" : "several items";
  }
};

void add_sizes(const ShapeAlternative& alternative, const ShapeBinding& binding, Factors& all) {
  for (const auto& [symbol, size] : binding.sizes) all.emplace("size " + symbol, size_class(size));
  for (const std::string& run : alternative.runs()) {
    const auto found = binding.runs.find(run);
    if (found == binding.runs.end()) continue;
    const Shape& dims = found->second;
    if (alternative.window_in(run) != nullptr) {
      all.emplace("window " + run, numbers(dims, kMostOfWindows));
      continue;
    }
    all.emplace("rank *" + run, dims.size() > 4 ? "above 4" : std::to_string(dims.size()));
    if (!dims.empty()) all.emplace("size *" + run, size_class(dims.back()));
  }
}

}  // namespace

std::string_view layout_class(const Layout& layout) {
  switch (layout.kind) {
    case Layout::Kind::contiguous:
      return "contiguous";
    case Layout::Kind::offset:
      return "offset";
    case Layout::Kind::channels_last:
      return "channels_last";
    case Layout::Kind::permuted:
      return "permuted";
    case Layout::Kind::step2:
    case Layout::Kind::strides:
      return "with gaps";
    case Layout::Kind::expanded:
      return "expanded";
  }
  return "";
}

const std::vector<SizeClass>& size_classes() {
  static const std::vector<SizeClass> all{{"0", 0, 0},
                                          {"1", 1, 1},
                                          {"2-8", 2, 8},
                                          {"9-63", 9, 63},
                                          {"beside a vector", 15, 65},
                                          {"64-255", 64, 255},
                                          {"256-1023", 256, 1023},
                                          {"from 1024", 1024, kMost}};
  return all;
}

std::string_view size_class(std::int64_t size) {
  if (is_beside_vector(size)) return "beside a vector";
  for (const SizeClass& c : size_classes())
    if (c.name != "beside a vector" && size >= c.least && size <= c.greatest) return c.name;
  return "below 0";
}

std::string_view broadcast_class(const Shape& shape, const Shape& full) {
  if (shape.empty() && !full.empty()) return "no dimensions";
  const std::size_t missing = full.size() - std::min(shape.size(), full.size());
  std::vector<std::size_t> ones;
  for (std::size_t d = 0; d < shape.size() && missing + d < full.size(); ++d)
    if (shape[d] == 1 && full[missing + d] != 1) ones.push_back(d);
  if (missing > 0) return ones.empty() ? "fewer dimensions" : "fewer dimensions and ones";
  if (ones.empty()) return "as it is";
  if (ones.size() > 1) return ones.back() - ones.front() + 1 > ones.size() ? "several apart" : "several";
  // What is beside it counts where it has elements to step over.
  const auto steps = [&](std::size_t begin, std::size_t end) {
    return std::any_of(full.begin() + static_cast<std::ptrdiff_t>(begin),
                       full.begin() + static_cast<std::ptrdiff_t>(end),
                       [](std::int64_t size) { return size > 1; });
  };
  if (!steps(ones[0] + 1, full.size())) return "the last";
  return steps(0, ones[0]) ? "one between" : "the first";
}

std::string value_class(const Case& c, std::size_t argument) {
  return std::visit(
      ValueClass{c, domain(*c.op, c.op->schema.argument_storage[argument].name), is_padding(*c.op, argument)},
      c.arguments[argument]);
}

Factors factors_of(const Case& c) {
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) return {};
  const auto& alternatives = shape_rule(*c.op).alternatives;
  const ShapeAlternative& alternative = alternatives[static_cast<std::size_t>(match.alternative)];
  Factors all{{"data", c.data}};
  if (alternatives.size() > 1) all.emplace("rule", std::to_string(match.alternative + 1));
  add_sizes(alternative, match.binding, all);
  std::optional<Dtype> first;
  bool differ = false;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (!a.is_tensor()) {
      if (!alternative.binds(i)) all.emplace(a.name, value_class(c, i));
      continue;
    }
    const auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
    all.emplace(fmt::format("layout {}", a.name), t == nullptr ? "none" : layout_class(t->layout));
    if (t == nullptr) continue;
    differ = differ || (first && *first != t->dtype);
    first = first.value_or(t->dtype);
    const ShapePattern* pattern = alternative.pattern_of(i);
    if (pattern != nullptr && pattern->broadcast && !pattern->computed())
      all.emplace(fmt::format("broadcast {}", a.name),
                  broadcast_class(t->shape, instantiate(*pattern, match.binding)));
  }
  all.emplace("dtypes", differ ? "differ" : "alike");
  return all;
}

}  // namespace assay
