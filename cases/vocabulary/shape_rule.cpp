#include "shape_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <stdexcept>

#include "once_per_operator.h"
#include "shape_function.h"
#include "shape_rule_text.h"
#include "view.h"

namespace assay {
namespace {

[[noreturn]] void malformed(const Operator& op, std::string_view what, std::string_view where) {
  throw std::invalid_argument(fmt::format("{}: the shape rule is malformed: {} at \"{}\" of \"{}\"",
                                          op.schema.name, what, where, op.shapes));
}

class RuleParser {
 public:
  explicit RuleParser(const Operator& op) : op_(op), text_(op.shapes) {}

  ShapeRule parse() {
    ShapeRule rule;
    do {
      rule.alternatives.push_back(alternative());
    } while (accept(";"));
    if (!text_.empty()) malformed(op_, "text after the end", text_);
    return rule;
  }

 private:
  ShapeAlternative alternative() {
    ShapeAlternative a;
    while (!accept("->")) {
      const std::string name = word();
      const int argument = op_.schema.find(name);
      if (argument < 0) malformed(op_, fmt::format("the schema has no argument \"{}\"", name), text_);
      if (!accept("=")) malformed(op_, "expected \"=\"", text_);
      const Type type = op_.schema.argument_storage[static_cast<std::size_t>(argument)].type;
      if (type == Type::boolean)
        a.flags.push_back({argument, flag()});
      else if (type == Type::integer && !text_.starts_with('['))
        a.numbers.push_back({argument, size()});
      else
        a.inputs.push_back(pattern(argument));
    }
    do {
      a.outputs.push_back(pattern(-1));
    } while (accept(","));
    if (a.outputs.size() != op_.schema.result_count) malformed(op_, "not one pattern for each result", text_);
    check_windows(a);
    return a;
  }

  // A window comes after what it lies in, which is known by then.
  void check_windows(const ShapeAlternative& a) const {
    const std::vector<std::string> runs = a.runs(), symbols = a.symbols();
    for (const std::string& run : runs)
      if (const std::string* in = a.window_in(run);
          in != nullptr && std::ranges::find(runs, *in) >= std::ranges::find(runs, run))
        malformed(op_, fmt::format("no argument before it says the run of the window *{}<{}", run, *in),
                  op_.shapes);
    for (const auto& [size, in] : a.windows_of_sizes())
      if (in == size || (!is_number(in) && std::ranges::find(symbols, in) == symbols.end()))
        malformed(op_, fmt::format("no argument says the size of the window {}<{}", size, in), op_.shapes);
  }
  static bool is_number(std::string_view word) {
    return std::isdigit(static_cast<unsigned char>(word[0])) != 0;
  }

  bool flag() {
    if (accept("true")) return true;
    if (!accept("false")) malformed(op_, "expected true or false", text_);
    return false;
  }

  DimPattern size() {
    if (!accept("|")) {
      const std::string symbol = word();
      if (accept("*")) return {DimPattern::Kind::product, symbol, 0, false, {word()}};
      return {DimPattern::Kind::symbol, symbol};
    }
    DimPattern d = run();
    if (!accept("|")) malformed(op_, "expected \"|\"", text_);
    return d;
  }

  ShapePattern pattern(int argument) {
    ShapePattern p;
    p.argument = argument;
    if (!accept("[")) malformed(op_, "expected \"[\"", text_);
    if (!accept("]")) {
      do {
        p.dims.push_back(dim());
      } while (accept(","));
      if (!accept("]")) malformed(op_, "expected \"]\"", text_);
    }
    p.broadcast = accept("~");
    const bool optional =
        argument >= 0 && op_.schema.argument_storage[static_cast<std::size_t>(argument)].optional;
    if (p.computed() && (p.broadcast || optional))
      malformed(op_, "computed dimensions of what broadcasts or may be absent", text_);
    return p;
  }

  DimPattern run() {
    const bool some = accept("+");
    if (!some && !accept("*")) malformed(op_, "expected \"*\" or \"+\"", text_);
    DimPattern d{DimPattern::Kind::run, {}, 0, some};
    if (!text_.empty() && std::isalpha(static_cast<unsigned char>(text_[0])) != 0) d.name = word();
    return d;
  }

  DimPattern dim() {
    skip();
    if (text_.starts_with("1*")) {
      text_.remove_prefix(1);
      DimPattern d = run();
      d.kind = DimPattern::Kind::ones;
      return d;
    }
    if (text_.starts_with('*') || text_.starts_with('+')) {
      DimPattern d = run();
      if (accept("<")) {
        const bool named = !text_.empty() && std::isalpha(static_cast<unsigned char>(text_[0])) != 0;
        d.operands.push_back(named ? word() : std::string{});
      }
      return d;
    }
    const std::string w = word();
    if (accept("(")) return function(w);
    if (accept("*")) return {DimPattern::Kind::product, w, 0, false, {word()}};
    if (is_number(w)) return {DimPattern::Kind::number, w, number(w)};
    DimPattern d{DimPattern::Kind::symbol, w};
    if (accept("<")) {
      d.operands.push_back(word());
      if (is_number(d.operands[0])) number(d.operands[0]);
    }
    return d;
  }

  std::int64_t number(const std::string& digits) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size())
      malformed(op_, fmt::format("\"{}\" is no number", digits), text_);
    return value;
  }

  DimPattern function(const std::string& name) {
    DimPattern d{DimPattern::Kind::computed, name};
    do {
      skip();
      if (text_.starts_with('*'))
        d.operands.push_back(fmt::format("*{}", run().name));
      else
        d.operands.push_back(word());
    } while (accept(","));
    if (!accept(")")) malformed(op_, "expected \")\"", text_);
    const ShapeFunction* f = find_shape_function(name);
    if (f == nullptr) malformed(op_, fmt::format("there is no function \"{}\"", name), op_.shapes);
    if (f->operands != d.operands.size())
      malformed(op_, fmt::format("{} has {} operands", name, f->operands), op_.shapes);
    return d;
  }

  std::string word() {
    skip();
    std::size_t n = 0;
    while (n < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[n])) != 0 || text_[n] == '_'))
      ++n;
    if (n == 0) malformed(op_, "expected a name", text_);
    const std::string w(text_.substr(0, n));
    text_.remove_prefix(n);
    return w;
  }
  void skip() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  bool accept(std::string_view token) {
    skip();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  const Operator& op_;
  std::string_view text_;
};

// Calls see(dim) for every dimension of the arguments' patterns, in order.
template <class See>
void each_dim(const ShapeAlternative& alternative, const See& see) {
  for (const ShapePattern& p : alternative.inputs)
    for (const DimPattern& d : p.dims) see(d);
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

bool ShapePattern::computed() const {
  return std::ranges::any_of(dims, [](const DimPattern& d) { return d.kind == DimPattern::Kind::computed; });
}

std::int64_t product_of_sizes(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

std::int64_t BoundNumber::value(const ShapeBinding& binding) const {
  if (size.kind == DimPattern::Kind::symbol) return binding.sizes.at(size.name);
  if (size.kind == DimPattern::Kind::product)
    return product_of_sizes(binding.sizes.at(size.name), binding.sizes.at(size.operands[0]));
  std::int64_t product = 1;
  for (const std::int64_t n : binding.runs.at(size.name)) product = product_of_sizes(product, n);
  return product;
}

std::vector<std::string> ShapeAlternative::symbols() const {
  std::vector<std::string> names;
  each_dim(*this, [&](const DimPattern& d) {
    if (d.kind == DimPattern::Kind::symbol || d.kind == DimPattern::Kind::product) add_once(names, d.name);
    if (d.kind == DimPattern::Kind::product) add_once(names, d.operands[0]);
  });
  return names;
}
std::vector<std::string> ShapeAlternative::runs() const {
  std::vector<std::string> names;
  each_dim(*this, [&](const DimPattern& d) {
    if (d.kind == DimPattern::Kind::run) add_once(names, d.name);
  });
  return names;
}

const std::string* ShapeAlternative::window_in(const std::string& run) const {
  const std::string* in = nullptr;
  each_dim(*this, [&](const DimPattern& d) {
    if (d.is_window() && d.name == run) in = &d.operands[0];
  });
  return in;
}

std::vector<std::pair<std::string, std::string>> ShapeAlternative::windows_of_sizes() const {
  std::vector<std::pair<std::string, std::string>> all;
  each_dim(*this, [&](const DimPattern& d) {
    if (d.kind == DimPattern::Kind::symbol && !d.operands.empty()) all.emplace_back(d.name, d.operands[0]);
  });
  return all;
}

bool ShapeAlternative::some(const std::string& run) const {
  bool found = false;
  each_dim(*this, [&](const DimPattern& d) {
    found = found || (d.kind == DimPattern::Kind::run && d.some && d.name == run);
  });
  return found;
}

const ShapePattern* ShapeAlternative::pattern_of(std::size_t argument) const {
  const auto at = std::ranges::find(inputs, static_cast<int>(argument), &ShapePattern::argument);
  return at == inputs.end() ? nullptr : &*at;
}

bool ShapeAlternative::binds(std::size_t argument) const {
  const auto is = static_cast<int>(argument);
  return pattern_of(argument) != nullptr ||
         std::ranges::find(numbers, is, &BoundNumber::argument) != numbers.end() ||
         std::ranges::find(flags, is, &BoundFlag::argument) != flags.end();
}

namespace {

// `computed` gives the dimensions of a function.
template <class Computed>
Shape instantiated(const ShapePattern& pattern, const ShapeBinding& binding, const Computed& computed) {
  Shape shape;
  const auto append = [&](const Shape& dims) { shape.insert(shape.end(), dims.begin(), dims.end()); };
  for (const DimPattern& d : pattern.dims) {
    switch (d.kind) {
      case DimPattern::Kind::symbol:
        shape.push_back(binding.sizes.at(d.name));
        break;
      case DimPattern::Kind::number:
        shape.push_back(d.number);
        break;
      case DimPattern::Kind::product:
        shape.push_back(product_of_sizes(binding.sizes.at(d.name), binding.sizes.at(d.operands[0])));
        break;
      case DimPattern::Kind::run:
        append(binding.runs.at(d.name));
        break;
      case DimPattern::Kind::ones:
        append(Shape(binding.runs.at(d.name).size(), 1));
        break;
      case DimPattern::Kind::computed:
        append(computed(d));
        break;
    }
  }
  return shape;
}

}  // namespace

Shape instantiate(const ShapePattern& pattern, const ShapeBinding& binding) {
  return instantiated(pattern, binding, [](const DimPattern& d) -> Shape {
    throw std::logic_error(fmt::format("{} is computed from arguments", d.name));
  });
}

ShapeRule parse_shape_rule(const Operator& op) { return RuleParser(op).parse(); }

const ShapeRule& shape_rule(const Operator& op) { return once_per_operator<ShapeRule>(op, parse_shape_rule); }

ResultShapes result_shapes(const Operator& op, const ShapeMatch& match,
                           std::span<const assay_value> arguments) {
  ResultShapes results;
  const auto shape = [&](const ShapePattern& p) {
    return instantiated(p, match.binding, [&](const DimPattern& d) {
      return find_shape_function(d.name)->compute({op, arguments, match.binding, d.operands, results});
    });
  };
  const auto& alternative = shape_rule(op).alternatives[static_cast<std::size_t>(match.alternative)];
  for (const ShapePattern& p : alternative.inputs)
    if (p.computed()) results.arguments.emplace_back(p.argument, shape(p));
  for (const ShapePattern& p : alternative.outputs) results.shapes.push_back(shape(p));
  return results;
}

}  // namespace assay
