// Matching arguments with a shape rule.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "shape_rule.h"
#include "view.h"

namespace assay {
namespace {

[[noreturn]] void malformed(const Operator& op, std::string_view what) {
  throw std::invalid_argument(
      fmt::format("{}: the shape rule is malformed: {} in \"{}\"", op.schema.name, what, op.shapes));
}

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

  ShapeMatch match(std::span<const assay_value> arguments) {
    ShapeMatch m;
    if (!match_flags(arguments, m)) return m;
    ++progress;
    if (!bind_factors(arguments, m)) return m;
    // What broadcasts to symbols comes last, when they are known.
    for (const bool last : {false, true})
      for (const ShapePattern& p : alternative_.inputs) {
        const std::optional<Shape> shape = sizes(arguments[static_cast<std::size_t>(p.argument)]);
        if (p.computed()) continue;  // by result_shapes(), from what is matched here
        if (p.broadcasts_to_symbols() != last || !shape) continue;  // an optional tensor may be absent
        if (!(last          ? match_broadcast_to(p, *shape, m)
              : p.broadcast ? match_broadcast(p, *shape, m)
                            : match_exactly(p, *shape, m))) {
          m.argument = p.argument;
          return m;
        }
        ++progress;
      }
    if (!match_numbers(arguments, m)) return m;
    m.binding = std::move(binding_);
    return m;
  }

  int progress = 0;

 private:
  // Of a tensor or a list of ints; nothing of what is absent.
  static std::optional<Shape> sizes(const assay_value& v) {
    if (v.kind == ASSAY_KIND_INTS) return Shape(v.as.integers, v.as.integers + v.count);
    if (v.kind != ASSAY_KIND_TENSOR) return std::nullopt;
    const auto of = static_cast<const View*>(v.as.tensor)->sizes();
    return Shape(of.begin(), of.end());
  }

  bool match_flags(std::span<const assay_value> arguments, ShapeMatch& m) {
    for (const BoundFlag& flag : alternative_.flags) {
      if ((arguments[static_cast<std::size_t>(flag.argument)].as.integer != 0) == flag.value) continue;
      m.argument = flag.argument;
      m.error = fmt::format("{}: {} must be {}", op_.schema.name, name(flag.argument), flag.value);
      return false;
    }
    return true;
  }

  // Of products, before the sizes that are multiples of them.
  bool bind_factors(std::span<const assay_value> arguments, ShapeMatch& m) {
    for (const BoundNumber& number : alternative_.numbers) {
      if (number.size.kind != DimPattern::Kind::symbol || !is_factor(number.size.name)) continue;
      const std::int64_t given = arguments[static_cast<std::size_t>(number.argument)].as.integer;
      if (given <= 0) {
        m.argument = number.argument;
        m.error =
            fmt::format("{}: {} is {}, but must be positive", op_.schema.name, name(number.argument), given);
        return false;
      }
      binding_.sizes[number.size.name] = given;
      symbol_from_[number.size.name] = fmt::format("{}", name(number.argument));
    }
    return true;
  }
  bool is_factor(const std::string& symbol) const {
    return std::ranges::any_of(alternative_.inputs, [&](const ShapePattern& p) {
      return std::ranges::any_of(p.dims, [&](const DimPattern& d) {
        return d.kind == DimPattern::Kind::product && d.name == symbol;
      });
    });
  }

  static std::string product(const DimPattern& d) { return fmt::format("{}*{}", d.name, d.operands[0]); }

  bool match_product(const ShapePattern& p, const DimPattern& d, const Shape& shape, std::size_t at,
                     ShapeMatch& m) {
    const auto factor = binding_.sizes.find(d.name);
    if (factor == binding_.sizes.end())
      malformed(op_, fmt::format("no int argument says what {} is", d.name));
    const std::string& other = d.operands[0];
    if (const auto known = binding_.sizes.find(other); known != binding_.sizes.end()) {
      const std::int64_t size = product_of_sizes(factor->second, known->second);
      if (shape[at] == size) return true;
      return fail(m, p, shape,
                  fmt::format("dimension {} must be {}, {} times the {} of {}", at, size,
                              symbol_from_[d.name], known->second, symbol_from_[other]));
    }
    if (shape[at] % factor->second != 0)
      return fail(m, p, shape,
                  fmt::format("dimension {} must be a multiple of {}, which is {}", at, symbol_from_[d.name],
                              factor->second));
    binding_.sizes[other] = shape[at] / factor->second;
    symbol_from_[product(d)] = fmt::format("dimension {} of {}", at, name(p.argument));
    symbol_from_[other] = fmt::format("{} over {}", symbol_from_[product(d)], symbol_from_[d.name]);
    return true;
  }

  bool match_numbers(std::span<const assay_value> arguments, ShapeMatch& m) {
    for (const BoundNumber& number : alternative_.numbers) {
      if (arguments[static_cast<std::size_t>(number.argument)].kind == ASSAY_KIND_NONE) continue;
      const std::int64_t given = arguments[static_cast<std::size_t>(number.argument)].as.integer;
      const std::int64_t expected = number.value(binding_);
      if (given == expected) continue;
      m.argument = number.argument;
      const DimPattern& size = number.size;
      const std::string of =
          size.kind == DimPattern::Kind::run
              ? fmt::format("the number of elements of [{}]{}", text(binding_.runs[size.name]),
                            run_from_[size.name])
              : fmt::format("the size of {}",
                            symbol_from_[size.kind == DimPattern::Kind::product ? product(size) : size.name]);
      m.error = fmt::format("{}: {} is {}, but must be {}, {}", op_.schema.name, name(number.argument), given,
                            expected, of);
      return false;
    }
    return true;
  }

  bool fail(ShapeMatch& m, const ShapePattern& p, const Shape& shape, std::string why) {
    const Argument& a = op_.schema.argument_storage[static_cast<std::size_t>(p.argument)];
    m.error =
        a.is_tensor()
            ? fmt::format("{}: {} has shape [{}], but {}", op_.schema.name, a.name, text(shape), why)
            : fmt::format("{}: {} is [{}], but {}", op_.schema.name, a.name, fmt::join(shape, ","), why);
    return false;
  }

  bool match_broadcast_to(const ShapePattern& p, const Shape& shape, ShapeMatch& m) {
    for (const DimPattern& d : p.dims)
      if (d.kind == DimPattern::Kind::symbol && !binding_.sizes.contains(d.name))
        malformed(op_, fmt::format("no other tensor says what {} is", d.name));
    const Shape full = instantiate(p, binding_);
    Shape joint;
    if (shape.size() > full.size() || !broadcasts(full, shape, joint) || joint != full)
      return fail(m, p, shape, fmt::format("must broadcast to [{}]", text(full)));
    return true;
  }

  bool match_broadcast(const ShapePattern& p, const Shape& shape, ShapeMatch& m) {
    const std::string& run = p.dims[0].name;
    Shape joint;
    if (!broadcasts(binding_.runs[run], shape, joint))
      return fail(
          m, p, shape,
          fmt::format("cannot be broadcast with shape [{}]{}", text(binding_.runs[run]), run_from_[run]));
    binding_.runs[run] = joint;
    run_from_[run] = from(p);
    return true;
  }

  // How many dimensions each run of the pattern has in this shape: all but one are known, or there is only one.
  struct Lengths {
    std::map<std::string, std::size_t> of;
    std::size_t least = 0;  // dimensions of the shape
    bool open = false;      // it may have more
  };
  Lengths run_lengths(const ShapePattern& p, std::size_t rank) {
    Lengths lengths;
    const std::string* open = nullptr;
    std::size_t& least = lengths.least;
    for (const DimPattern& d : p.dims) {
      if (d.kind != DimPattern::Kind::run) {
        least += d.kind == DimPattern::Kind::ones ? ones(d) : 1;
        continue;
      }
      const bool known = run_from_.contains(d.name);
      if (d.is_window() && !known) {
        if (!run_from_.contains(d.operands[0])) malformed(op_, "a window in a run that is not known");
        least += lengths.of[d.name] = binding_.runs[d.operands[0]].size();
        continue;
      }
      if (open == nullptr && (!known || &d == last_run(p))) {
        open = &d.name;
        least += d.some ? 1 : 0;
      } else if (!known) {
        malformed(op_, "two runs of unknown length");
      } else {
        least += lengths.of[d.name] = binding_.runs[d.name].size();
      }
    }
    lengths.open = open != nullptr;
    if (lengths.open) {
      const std::size_t others = least - (some(p, *open) ? 1 : 0);
      lengths.of[*open] = rank < others ? 0 : rank - others;
    }
    return lengths;
  }
  // How many dimensions "1*M" is.
  std::size_t ones(const DimPattern& d) {
    if (!run_from_.contains(d.name)) malformed(op_, "ones for a run that is not known");
    return binding_.runs[d.name].size();
  }
  static const DimPattern* last_run(const ShapePattern& p) {
    const DimPattern* last = nullptr;
    for (const DimPattern& d : p.dims)
      if (d.kind == DimPattern::Kind::run) last = &d;
    return last;
  }
  static bool some(const ShapePattern& p, const std::string& run) {
    return std::ranges::any_of(p.dims, [&](const DimPattern& d) { return d.some && d.name == run; });
  }

  bool match_exactly(const ShapePattern& p, const Shape& shape, ShapeMatch& m) {
    const Lengths lengths = run_lengths(p, shape.size());
    if (lengths.open ? shape.size() < lengths.least : shape.size() != lengths.least)
      return fail(m, p, shape,
                  fmt::format("must have {}{} dimension{}", lengths.open ? "at least " : "", lengths.least,
                              lengths.least == 1 ? "" : "s"));
    std::size_t at = 0;
    for (const DimPattern& d : p.dims) {
      if (d.kind == DimPattern::Kind::run) {
        const std::size_t n = lengths.of.at(d.name);
        if (!match_run(p, d, shape, at, n, m)) return false;
        at += n;
        continue;
      }
      if (d.kind == DimPattern::Kind::ones) {
        for (const std::size_t end = at + ones(d); at < end; ++at)
          if (shape[at] != 1) return fail(m, p, shape, fmt::format("dimension {} must be 1", at));
        continue;
      }
      const std::int64_t size = shape[at];
      if (d.kind == DimPattern::Kind::product) {
        if (!match_product(p, d, shape, at, m)) return false;
      } else if (d.kind == DimPattern::Kind::number) {
        if (size != d.number) return fail(m, p, shape, fmt::format("dimension {} must be {}", at, d.number));
      } else if (const auto known = binding_.sizes.find(d.name); known == binding_.sizes.end()) {
        binding_.sizes[d.name] = size;
        symbol_from_[d.name] = fmt::format("dimension {} of {}", at, name(p.argument));
      } else if (known->second != size) {
        return fail(
            m, p, shape,
            fmt::format("dimension {} must be {}, the size of {}", at, known->second, symbol_from_[d.name]));
      }
      ++at;
    }
    return true;
  }

  bool match_run(const ShapePattern& p, const DimPattern& d, const Shape& shape, std::size_t at,
                 std::size_t n, ShapeMatch& m) {
    const Shape part(shape.begin() + static_cast<std::ptrdiff_t>(at),
                     shape.begin() + static_cast<std::ptrdiff_t>(at + n));
    const auto known = run_from_.find(d.name);
    if (known == run_from_.end()) {
      binding_.runs[d.name] = part;
      run_from_[d.name] = from(p);
      return true;
    }
    const Shape& run = binding_.runs[d.name];
    if (part == run) return true;
    return fail(m, p, shape,
                n == shape.size() ? fmt::format("must have shape [{}]{}", text(run), known->second)
                                  : fmt::format("its dimensions [{}] must be [{}]{}", text(part), text(run),
                                                known->second));
  }

  std::string_view name(int argument) const {
    return op_.schema.argument_storage[static_cast<std::size_t>(argument)].name;
  }
  std::string from(const ShapePattern& p) const { return fmt::format(" of {}", name(p.argument)); }

  const Operator& op_;
  const ShapeAlternative& alternative_;
  ShapeBinding binding_;
  std::map<std::string, std::string> run_from_, symbol_from_;
};

}  // namespace

ShapeMatch match_shapes(const Operator& op, std::span<const assay_value> arguments) {
  ShapeMatch best;
  int furthest = -1;
  for (const ShapeAlternative& alternative : shape_rule(op).alternatives) {
    Matcher matcher(op, alternative);
    ShapeMatch m = matcher.match(arguments);
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
