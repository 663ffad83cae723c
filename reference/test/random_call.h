// Random calls of any operator, from its schema, shape rule and domains: operators that are added later are tested by
// the same tests without a line of their own.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "calls.h"
#include "shape_rule.h"

namespace assay::testing {

enum class Family { normal, positive, integers, offset, wide, cancelling, subnormal, edge };
inline constexpr Family kFamilies[] = {Family::normal, Family::positive,   Family::integers,  Family::offset,
                                       Family::wide,   Family::cancelling, Family::subnormal, Family::edge};
inline constexpr const char* kFamilyNames[] = {"normal", "positive",   "integers",  "offset",
                                               "wide",   "cancelling", "subnormal", "edge"};

class RandomCall {
 public:
  RandomCall(const Operator& op, Dtype dtype, Family family, std::uint64_t seed, int largest = 8)
      : call(op.schema.name), op_(op), dtype_(dtype), family_(family), random_(seed) {
    for (int d = 0; !op.dtypes.contains(dtype_) && d < kDtypes; ++d) dtype_ = static_cast<Dtype>(d);
    for (const Argument& a : op.schema.arguments())
      filled_ = filled_ || (domain(op, a.name).has_axes() && domain(op, a.name).filled);
    // Windows may be too large for what they move over: again, then.
    for (int attempt = 0; evaluation == nullptr; ++attempt) {
      draw(largest);
      try {
        evaluation = &call.evaluate();
      } catch (const std::invalid_argument&) {
        if (attempt == 200) throw;
      }
    }
  }

  Call call;
  Evaluation* evaluation = nullptr;
  std::string text;                           // what was called, for messages
  std::vector<std::vector<double>> elements;  // by argument, in the order of the schema; empty for others

 private:
  void draw(int largest) {
    call.clear();
    text.clear();
    elements.clear();
    shapes_.clear();
    given_.clear();
    const ShapeRule& rule = shape_rule(op_);
    const ShapeAlternative& alternative = rule.alternatives[below(rule.alternatives.size())];
    ShapeBinding binding;
    do binding = draw_sizes(alternative, largest);
    while (!is_small(alternative, binding));
    for (std::size_t i = 0; i < op_.schema.argument_count; ++i) argument(i, alternative, binding);
    for (const auto& [i, shape] : computed_shapes(op_, call.arguments())) {
      const auto at = static_cast<std::size_t>(i);
      const Domain d = domain(op_, op_.schema.argument_storage[at].name);
      const Dtype dtype = d.own.empty() ? dtype_ : d.own.front();
      elements[at] = draw_elements(shape, dtype, op_.schema.argument_storage[at].name);
      text += std::string(op_.schema.argument_storage[at].name) + "=[" + assay::text(shape) + "] ";
      call.replace(at, dtype, shape, elements[at]);
    }
  }

  ShapeBinding draw_sizes(const ShapeAlternative& alternative, int largest) {
    ShapeBinding binding;
    // Of images, channels and positions together make the sums.
    windows_ = false;
    for (const std::string& run : alternative.runs())
      windows_ = windows_ || alternative.window_in(run) != nullptr;
    if (windows_) largest = std::min(largest, 3);
    for (const std::string& symbol : alternative.symbols()) binding.sizes[symbol] = size(largest);
    for (const std::string& run : alternative.runs()) {
      const std::string* in = alternative.window_in(run);
      std::size_t d = in != nullptr           ? binding.runs[*in].size()
                      : alternative.some(run) ? 1 + below(2)
                                              : below(3);
      for (Shape& sizes = binding.runs[run]; d > 0; --d) sizes.push_back(size(4));
    }
    return binding;
  }

  // The few calls of tensors that are larger would take most of the time.
  static bool is_small(const ShapeAlternative& alternative, const ShapeBinding& binding) {
    return std::ranges::all_of(alternative.inputs, [&](const ShapePattern& pattern) {
      return pattern.computed() || numel(instantiate(pattern, binding)) <= 1024;
    });
  }

  static std::int64_t numel(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::int64_t size(int largest) {
    return one_in(12)
               ? std::max<std::int64_t>(static_cast<std::int64_t>(below(windows_ ? 8 : 40)), filled_ ? 1 : 0)
               : 1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(largest)));
  }

  // In the operator's ranges, where it has some, every other normal number.
  double number(const Format& f, const std::vector<Range>& ranges) {
    const double z = normal_(random_);
    if (family_ == Family::normal && !ranges.empty() && one_in(2)) {
      const Range& r = ranges[below(ranges.size())];
      return std::uniform_real_distribution<>(r.least, r.greatest)(random_);
    }
    switch (family_) {
      case Family::normal:
        return z;
      case Family::positive:
        return std::fabs(z) + 0.1;
      case Family::integers:
        return std::nearbyint(3 * z);
      case Family::offset:
        return 100 + z;
      case Family::wide:
        return z * std::pow(10.0, std::uniform_real_distribution<>(-30, 30)(random_));
      case Family::cancelling: {
        const double large = (one_in(2) ? 1 : -1) * (1000 + std::nearbyint(z));
        return large + (one_in(3) ? z * 1e-3 : 0);
      }
      case Family::subnormal:
        return z * f.min_normal * (one_in(3) ? 4 : 0.1);
      case Family::edge:
        break;
    }
    const double values[] = {0.0,
                             -0.0,
                             NAN,
                             HUGE_VAL,
                             -HUGE_VAL,
                             f.max,
                             -f.max,
                             f.min_normal,
                             -f.min_subnormal,
                             f.max / 2,
                             1.0,
                             -1.0,
                             std::sqrt(f.max),
                             -std::sqrt(f.min_normal)};
    return one_in(3) ? values[below(std::size(values))] : z;
  }

  // What it may not be absent without is absent.
  bool must_be_given(const Argument& a) const {
    const Domain d = domain(op_, a.name);
    return d.kind != Domain::Kind::given && d.unless >= 0 && !given_[static_cast<std::size_t>(d.unless)];
  }

  void argument(std::size_t i, const ShapeAlternative& alternative, const ShapeBinding& binding) {
    const Argument& a = op_.schema.argument_storage[i];
    elements.emplace_back();
    text += std::string(a.name) + "=";
    if (a.is_tensor()) {
      const ShapePattern* pattern = alternative.pattern_of(i);
      if (pattern == nullptr && !a.optional)
        throw std::logic_error("this generator knows no tensors outside the shape rule");
      given_.push_back(
          pattern != nullptr &&
          (!a.optional || domain(op_, a.name).kind == Domain::Kind::given || must_be_given(a) || !one_in(4)));
      if (given_.back()) return tensor(*pattern, binding, a.name);
      call.none();
      text += "none ";
      shapes_.emplace_back();
      return;
    }
    const Domain d = domain(op_, a.name);
    shapes_.emplace_back();
    const bool given = !a.optional || alternative.binds(i) || must_be_given(a);
    given_.push_back(given || !one_in(2));
    if (!given_.back()) {
      call.none();
      text += "none ";
    } else if (alternative.binds(i)) {
      bound(i, alternative, binding);
    } else if (d.kind == Domain::Kind::one_of) {
      const std::string_view choice = d.choices[below(d.choices.size())];
      call.string(choice);
      text += std::string(choice) + " ";
    } else if (d.is_spatial()) {
      const std::int64_t least = d.kind == Domain::Kind::naturals ? 0 : 1;
      std::vector<std::int64_t> list(
          one_in(2) || d.of < 0 ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(rank_of(d) - 2, 1)));
      for (std::int64_t& n : list) n = least + static_cast<std::int64_t>(one_in(2) ? below(3) : 0);
      for (const std::int64_t n : list) text += std::to_string(n) + ",";
      text += " ";
      call.integers(std::move(list));
    } else if (d.kind == Domain::Kind::axes) {
      axes(d);
    } else if (d.kind == Domain::Kind::axis) {
      const std::int64_t rank = rank_of(d);
      const std::int64_t axis = static_cast<std::int64_t>(below(static_cast<std::size_t>(2 * rank))) - rank;
      call.integer(axis);
      text += std::to_string(axis) + " ";
    } else if (d.kind == Domain::Kind::scale) {
      const double scales[] = {0.5, 0.1, 2, 1.0 / 3};
      call.real(scales[below(std::size(scales))]);
      text += std::to_string(call.arguments().back().as.real) + " ";
    } else if (d.kind == Domain::Kind::zero_point) {
      call.integer(static_cast<std::int64_t>(below(128)));  // in the range of u8 and of i8
      text += std::to_string(call.arguments().back().as.integer) + " ";
    } else if (d.kind == Domain::Kind::format) {
      call.memory_format(MemoryFormat::contiguous_format);
      text += "contiguous_format ";
    } else if (d.kind == Domain::Kind::integer && d.filled) {
      call.integer(one_in(4) ? -3 : 1 + static_cast<std::int64_t>(below(5)));
      text += std::to_string(call.arguments().back().as.integer) + " ";
    } else if (d.kind == Domain::Kind::integer) {
      call.integer(static_cast<std::int64_t>(below(5)) - 2);
      text += std::to_string(call.arguments().back().as.integer) + " ";
    } else if (d.kind == Domain::Kind::natural) {
      call.integer(static_cast<std::int64_t>(below(3)));
      text += std::to_string(call.arguments().back().as.integer) + " ";
    } else if (d.kind == Domain::Kind::divisor) {
      const std::int64_t of = call.arguments()[static_cast<std::size_t>(d.of)].as.integer;
      std::int64_t group =
          1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(std::max<std::int64_t>(of, 1))));
      while (of % group != 0) --group;
      call.integer(group);
      text += std::to_string(group) + " ";
    } else if (d.kind == Domain::Kind::mask) {
      std::vector<std::int64_t> mask(op_.schema.result_count, 1);
      if (one_in(4))
        for (std::int64_t& computed : mask) computed = one_in(2) ? 1 : 0;
      for (const std::int64_t computed : mask) text += computed != 0 ? "true," : "false,";
      text += " ";
      call.booleans(std::move(mask));
    } else if (a.type == Type::boolean) {
      call.boolean(one_in(2));
      text += std::to_string(call.arguments().back().as.integer) + " ";
    } else if (d.kind == Domain::Kind::epsilon || d.kind == Domain::Kind::fraction) {
      const double choices[] = {1e-5, 1e-3, 0.1, 0.5, 0};
      call.real(choices[below(std::size(choices))]);
      text += std::to_string(call.arguments().back().as.real) + " ";
    } else if (a.type == Type::dtype) {
      call.dtype(dtype_);
      text += std::string(name(dtype_)) + " ";
    } else if (a.type == Type::scalar || a.type == Type::real) {
      const double choices[] = {1, 1, 0, 2, -0.3, 0.1, -1, 1e-5};
      const double x = choices[below(std::size(choices))];
      call.real(x);
      text += std::to_string(x) + " ";
    } else {
      throw std::logic_error("this generator has no values for argument " + std::string(a.name));
    }
  }

  std::int64_t rank_of(const Domain& d) const {
    return std::max<std::int64_t>(
        static_cast<std::int64_t>(shapes_.at(static_cast<std::size_t>(d.of)).size()), 1);
  }

  // Each dimension, or not.
  void axes(const Domain& d) {
    std::vector<std::int64_t> list;
    const std::int64_t rank = rank_of(d);
    for (std::int64_t axis = 0; axis < rank; ++axis)
      if (one_in(2)) list.push_back(one_in(2) ? axis : axis - rank);
    for (const std::int64_t axis : list) text += std::to_string(axis) + ",";
    text += " ";
    call.integers(std::move(list));
  }

  // What the shape rule says of an argument that is no tensor.
  void bound(std::size_t i, const ShapeAlternative& alternative, const ShapeBinding& binding) {
    if (const ShapePattern* pattern = alternative.pattern_of(i))
      call.integers(instantiate(*pattern, binding));
    for (const BoundNumber& n : alternative.numbers)
      if (n.argument == static_cast<int>(i)) call.integer(n.value(binding));
    for (const BoundFlag& f : alternative.flags)
      if (f.argument == static_cast<int>(i)) call.boolean(f.value);
    text += "bound ";
  }

  void tensor(const ShapePattern& pattern, const ShapeBinding& binding, std::string_view argument) {
    if (pattern.computed()) {  // from arguments that are drawn later
      const Domain d = domain(op_, argument);
      shapes_.emplace_back();
      call.tensor(d.own.empty() ? dtype_ : d.own.front(), {}, {0});
      return;
    }
    const Domain d = domain(op_, argument);
    const bool own = !d.own.empty();
    Shape shape = instantiate(pattern, binding);
    if (is_indexed(pattern.argument) && shape[0] == 0) shape[0] = 1;  // else there is no index to choose
    Dtype dtype = own ? d.own.front() : dtype_;
    if (pattern.broadcast) {  // any size may be one, any leading dimension may be missing
      if (one_in(4) && !shape.empty()) shape.erase(shape.begin());
      for (std::int64_t& n : shape)
        if (one_in(4)) n = 1;
    }
    const bool converts = op_.dtype_rule == DtypeRule::promote || op_.dtype_rule == DtypeRule::dtype_argument;
    if (converts && !own && shapes_.empty() && one_in(4)) dtype = Dtype::bf16;
    elements.back() = draw_elements(shape, dtype, argument);
    shapes_.push_back(shape);
    text += std::string(name(dtype)) + "[" + assay::text(shape) + "] ";
    call.tensor(dtype, shape, elements.back());
  }

  std::vector<double> draw_elements(const Shape& shape, Dtype dtype, std::string_view argument) {
    const Domain d = domain(op_, argument);
    const bool real = d.own.empty() ? is_float(dtype_) : d.own.front() == Dtype::f32;
    const std::vector<Range> interesting = ranges(op_, argument);
    std::vector<double> e;
    for (std::int64_t n = numel(shape); n > 0; --n)
      e.push_back(!real ? static_cast<double>(below(static_cast<std::size_t>(choices(d))))
                        : round_to(number(format(dtype), interesting), format(dtype)));
    return e;
  }

  bool is_indexed(int tensor) const {
    return std::ranges::any_of(op_.schema.arguments(), [&](const Argument& a) {
      const Domain d = domain(op_, a.name);
      return d.kind == Domain::Kind::index && !d.plane && d.of == tensor;
    });
  }

  // From 0, of a tensor of integers: two for a boolean, rows or places for an index, else what u8 and i8 hold.
  std::int64_t choices(const Domain& d) const {
    if (d.kind == Domain::Kind::boolean) return 2;
    if (d.kind != Domain::Kind::index) return 128;
    return std::max<std::int64_t>(d.choices_of(shapes_.at(static_cast<std::size_t>(d.of))), 1);
  }

  const Operator& op_;
  Dtype dtype_;
  Family family_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<Shape> shapes_;  // by argument
  std::vector<bool> given_;    // by argument: not None
  bool filled_ = false;        // no dimension may be empty
  bool windows_ = false;       // move over some tensor
};

}  // namespace assay::testing
