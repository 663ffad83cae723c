#include "shape_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

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
    if (!text_.empty()) malformed(op_, "text behind the end", text_);
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
      a.inputs.push_back(pattern(argument));
    }
    do {
      a.outputs.push_back(pattern(-1));
    } while (accept(","));
    if (a.outputs.size() != op_.schema.result_count) malformed(op_, "not one pattern for each result", text_);
    return a;
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
    return p;
  }

  DimPattern dim() {
    if (accept("*")) return {DimPattern::Kind::rest, "*", 0};
    const std::string w = word();
    if (w.find_first_not_of("0123456789") == std::string::npos)
      return {DimPattern::Kind::number, w, std::stoll(w)};
    return {DimPattern::Kind::symbol, w, 0};
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

// NumPy's rule: from the last dimension, sizes are equal or one of them is 1.
bool broadcasts(const Shape& a, const Shape& b, Shape& out) {
  out.assign(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return false;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return true;
}

// Matches one alternative; on failure the error says what is wrong, `progress` how far it got.
class Matcher {
 public:
  Matcher(const Operator& op, const ShapeAlternative& alternative) : op_(op), alternative_(alternative) {}

  ShapeMatch match(std::span<const std::optional<Shape>> shapes) {
    ShapeMatch m;
    // What broadcasts to symbols comes last, when they are known.
    for (const bool last : {false, true})
      for (const ShapePattern& p : alternative_.inputs) {
        const auto& shape = shapes[static_cast<std::size_t>(p.argument)];
        if (p.broadcasts_to_symbols() != last || !shape) continue;  // an optional tensor may be absent
        if (!(last          ? match_broadcast_to(p, *shape, m)
              : p.broadcast ? match_broadcast(p, *shape, m)
                            : match_exactly(p, *shape, m))) {
          m.argument = p.argument;
          return m;
        }
        ++progress;
      }
    for (const ShapePattern& p : alternative_.outputs) m.outputs.push_back(instantiate(p, binding_));
    m.binding = std::move(binding_);
    return m;
  }

  int progress = 0;

 private:
  bool fail(ShapeMatch& m, const ShapePattern& p, const Shape& shape, std::string why) {
    m.error =
        fmt::format("{}: {} has shape [{}], but {}", op_.schema.name,
                    op_.schema.argument_storage[static_cast<std::size_t>(p.argument)].name, text(shape), why);
    return false;
  }

  bool match_broadcast_to(const ShapePattern& p, const Shape& shape, ShapeMatch& m) {
    for (const DimPattern& d : p.dims)
      if (d.kind == DimPattern::Kind::symbol && !binding_.sizes.contains(d.symbol))
        malformed(op_, fmt::format("no other tensor says what {} is", d.symbol), op_.shapes);
    const Shape full = instantiate(p, binding_);
    Shape joint;
    if (shape.size() > full.size() || !broadcasts(full, shape, joint) || joint != full)
      return fail(m, p, shape, fmt::format("must broadcast to [{}]", text(full)));
    return true;
  }

  bool match_broadcast(const ShapePattern& p, const Shape& shape, ShapeMatch& m) {
    Shape joint;
    if (!broadcasts(binding_.rest, shape, joint))
      return fail(m, p, shape,
                  fmt::format("cannot be broadcast with shape [{}]{}", text(binding_.rest), rest_from_));
    binding_.rest = joint;
    rest_from_ = from(p);
    return true;
  }

  bool match_exactly(const ShapePattern& p, const Shape& shape, ShapeMatch& m) {
    const auto rest = std::ranges::find(p.dims, DimPattern::Kind::rest, &DimPattern::kind);
    const bool has_rest = rest != p.dims.end();
    const std::size_t fixed = p.dims.size() - (has_rest ? 1 : 0);
    if (has_rest ? shape.size() < fixed : shape.size() != fixed)
      return fail(m, p, shape,
                  fmt::format("must have {}{} dimension{}", has_rest ? "at least " : "", fixed,
                              fixed == 1 ? "" : "s"));
    std::size_t at = 0;
    for (const DimPattern& d : p.dims) {
      if (d.kind == DimPattern::Kind::rest) {
        const std::size_t n = shape.size() - fixed;
        const Shape part(shape.begin() + static_cast<std::ptrdiff_t>(at),
                         shape.begin() + static_cast<std::ptrdiff_t>(at + n));
        if (rest_from_.empty()) {
          binding_.rest = part;
          rest_from_ = from(p);
        } else if (part != binding_.rest) {
          return fail(m, p, shape,
                      n == shape.size()
                          ? fmt::format("must have shape [{}]{}", text(binding_.rest), rest_from_)
                          : fmt::format("its dimensions [{}] must be [{}]{}", text(part), text(binding_.rest),
                                        rest_from_));
        }
        at += n;
        continue;
      }
      const std::int64_t size = shape[at];
      if (d.kind == DimPattern::Kind::number) {
        if (size != d.number) return fail(m, p, shape, fmt::format("dimension {} must be {}", at, d.number));
      } else if (const auto known = binding_.sizes.find(d.symbol); known == binding_.sizes.end()) {
        binding_.sizes[d.symbol] = size;
        symbol_from_[d.symbol] = fmt::format("dimension {} of {}", at, argument_name(p));
      } else if (known->second != size) {
        return fail(m, p, shape,
                    fmt::format("dimension {} must be {}, the size of {}", at, known->second,
                                symbol_from_[d.symbol]));
      }
      ++at;
    }
    return true;
  }

  std::string_view argument_name(const ShapePattern& p) const {
    return op_.schema.argument_storage[static_cast<std::size_t>(p.argument)].name;
  }
  std::string from(const ShapePattern& p) const { return fmt::format(" of {}", argument_name(p)); }

  const Operator& op_;
  const ShapeAlternative& alternative_;
  ShapeBinding binding_;
  std::string rest_from_;
  std::map<std::string, std::string> symbol_from_;
};

}  // namespace

std::string text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::vector<std::string> ShapeAlternative::symbols() const {
  std::vector<std::string> names;
  for (const ShapePattern& p : inputs)
    for (const DimPattern& d : p.dims)
      if (d.kind == DimPattern::Kind::symbol && std::ranges::find(names, d.symbol) == names.end())
        names.push_back(d.symbol);
  return names;
}

bool ShapeAlternative::has_rest() const {
  return std::ranges::any_of(inputs, [](const ShapePattern& p) {
    return std::ranges::any_of(p.dims, [](const DimPattern& d) { return d.kind == DimPattern::Kind::rest; });
  });
}

Shape instantiate(const ShapePattern& pattern, const ShapeBinding& binding) {
  Shape shape;
  for (const DimPattern& d : pattern.dims) {
    if (d.kind == DimPattern::Kind::rest)
      shape.insert(shape.end(), binding.rest.begin(), binding.rest.end());
    else
      shape.push_back(d.kind == DimPattern::Kind::number ? d.number : binding.sizes.at(d.symbol));
  }
  return shape;
}

const ShapeRule& shape_rule(const Operator& op) {
  static std::mutex mutex;
  static std::map<std::string_view, ShapeRule> rules;  // by the text of the schema, never by address
  const std::scoped_lock lock(mutex);
  const auto known = rules.find(op.schema.text);
  if (known != rules.end()) return known->second;
  return rules.emplace(op.schema.text, RuleParser(op).parse()).first->second;
}

ShapeMatch match_shapes(const Operator& op, std::span<const std::optional<Shape>> shapes) {
  ShapeMatch best;
  int furthest = -1;
  for (const ShapeAlternative& alternative : shape_rule(op).alternatives) {
    Matcher matcher(op, alternative);
    ShapeMatch m = matcher.match(shapes);
    if (m.error.empty()) {
      m.alternative = static_cast<int>(&alternative - shape_rule(op).alternatives.data());
      return m;
    }
    if (matcher.progress > furthest) {
      furthest = matcher.progress;
      best = std::move(m);
    }
  }
  return best;
}

}  // namespace assay
