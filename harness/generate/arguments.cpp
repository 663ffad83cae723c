#include "arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "check_case.h"
#include "layouts.h"
#include "shapes.h"
#include "tensor_copy.h"
#include "windows.h"

namespace assay {
namespace {

constexpr std::array kSmallReals{0.0,  1.0,     -1.0, 2.0, -2.0, 0.5, -0.5, 0.25, 3.14159265358979,
                                 -0.1, 1.0 / 3, 1e-3};
constexpr std::array kFarReals{1e3, -1e4, 1e-6, 1e30, -1e-30};
constexpr std::array kSpecialReals{std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity()};

// The arguments of a case whose tensors are all contiguous: what everything else starts from.
CaseValue default_of(const Operator& op, std::size_t i, Dtype dtype) {
  const Argument& a = op.schema.argument_storage[i];
  const Domain& d = domain(op, a.name);
  // Without it, both could be None; a tensor is left out only where the other is there.
  const bool given = d.unless >= 0 && d.kind != Domain::Kind::given && !a.is_tensor();
  if (a.has_default && !given) return default_value(a);
  if (a.optional && !given && !(d.for_integers && !is_float(dtype))) return None{};
  if (a.list) {
    if (a.is_tensor())
      throw std::invalid_argument(
          fmt::format("{}: no case can be made for the list of tensors {}", op.schema.name, a.name));
    const auto n = static_cast<std::size_t>(std::max(a.list_size, 1));
    if (domain(op, a.name).kind == Domain::Kind::axes) return std::vector<std::int64_t>{-1};
    if (domain(op, a.name).is_spatial())
      return std::vector<std::int64_t>{domain(op, a.name).kind == Domain::Kind::naturals ? 0 : 1};
    if (domain(op, a.name).kind == Domain::Kind::mask)
      return std::vector<std::int64_t>(op.schema.result_count, 1);
    if (a.type == Type::real) return std::vector<double>(n, 1.0);
    return std::vector<std::int64_t>(n, 1);
  }
  switch (a.type) {
    case Type::integer:
      return d.kind == Domain::Kind::axis ? std::int64_t{-1} : std::int64_t{1};
    case Type::scalar:
      return std::int64_t{1};
    case Type::real:
      return domain(op, a.name).kind == Domain::Kind::epsilon ? 1e-5 : 1.0;
    case Type::boolean:
      return false;
    case Type::string:
      return std::string(d.choices.empty() ? "none" : d.choices.front());
    case Type::memory_format:
      return MemoryFormat::preserve_format;
    case Type::dtype:
      return dtype;
    case Type::tensor:
      break;
  }
  throw std::invalid_argument(fmt::format("{}: the shape rule says nothing of {}", op.schema.name, a.name));
}

// Whether the shapes of the other, required tensors say everything that this pattern says.
bool may_be_absent(const Operator& op, const ShapeAlternative& alternative, const ShapePattern& pattern) {
  return std::ranges::all_of(pattern.dims, [&](const DimPattern& d) {
    if (d.kind == DimPattern::Kind::number) return true;
    return std::ranges::any_of(alternative.inputs, [&](const ShapePattern& other) {
      const Argument& a = op.schema.argument_storage[static_cast<std::size_t>(other.argument)];
      return !a.optional && std::ranges::any_of(other.dims, [&](const DimPattern& o) {
        return o.kind == d.kind && o.name == d.name;
      });
    });
  });
}

// A shape that broadcasts to `full`: leading dimensions dropped, others 1.
Shape broadcastable(Draw& draw, const Shape& full) {
  const std::size_t how = draw.weighted({45, 20, 20, 15});
  Shape shape = full;
  if (how == 2 || how == 3)
    for (std::int64_t& size : shape)
      if (draw.chance(50)) size = 1;
  if (how == 1 || how == 3)
    shape.erase(shape.begin(), shape.begin() + draw.range(0, static_cast<std::int64_t>(shape.size())));
  return shape;
}

CaseValue draw_scalar(Draw& draw, Dtype result) {
  const bool integers_only = !is_float(result);
  if (result == Dtype::boolean)  // others are beyond it
    return draw.pick(std::array<std::int64_t, 3>{0, 1, -1});
  // Beyond what numbers of 24, 32 and 53 bits tell apart.
  if (result == Dtype::i64 && draw.chance(25))
    return draw.pick(
        std::array<std::int64_t, 4>{16'777'217, 4'294'967'297, 9'007'199'254'740'993, -16'777'219});
  if (integers_only || draw.chance(30)) return draw.pick(std::array<std::int64_t, 6>{0, 1, -1, 2, 3, -7});
  if (draw.chance(80)) return draw.pick(kSmallReals);
  return draw.chance(75) ? draw.pick(kFarReals) : draw.pick(kSpecialReals);
}

// Different axes of a tensor, negative ones counted from the end; of dimensions with elements, if that is asked for.
std::vector<std::int64_t> draw_axes(Draw& draw, const Shape& shape, bool filled) {
  const auto rank = std::max<std::int64_t>(static_cast<std::int64_t>(shape.size()), 1);
  std::vector<std::int64_t> axes = draw.permutation(static_cast<std::size_t>(rank));
  if (filled && !shape.empty())
    std::erase_if(axes, [&](std::int64_t d) { return shape[static_cast<std::size_t>(d)] == 0; });
  if (axes.empty()) return {0};  // nothing that is allowed
  axes.resize(static_cast<std::size_t>(draw.range(1, static_cast<std::int64_t>(axes.size()))));
  for (std::int64_t& axis : axes)
    if (draw.chance(50)) axis -= rank;
  return axes;
}

std::vector<std::int64_t> draw_spatial(Draw& draw, const Case& c, std::size_t i, const Domain& d) {
  const Argument& a = c.op->schema.argument_storage[i];
  if (a.default_text == "[]" && draw.chance(30)) return {};
  std::size_t all = static_cast<std::size_t>(std::max(a.list_size, 0));
  if (d.of >= 0) {
    const auto& of = std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(d.of)]).shape;
    all = std::max<std::size_t>(of.size(), 3) - 2;
  }
  // As networks have it: paddings that are drawn do not fit windows of one row.
  if (is_padding(*c.op, i) && draw.chance(25))
    if (std::vector<std::int64_t> half = half_of_window(c); half.size() == all) return half;
  std::vector<std::int64_t> list(draw.chance(25) ? 1 : all);
  for (std::int64_t& n : list)
    n = d.kind == Domain::Kind::window      ? draw.pick(std::array<std::int64_t, 8>{1, 2, 2, 3, 3, 3, 4, 5})
        : d.kind == Domain::Kind::positives ? draw.pick(std::array<std::int64_t, 8>{1, 1, 1, 1, 2, 2, 3, 4})
                                            : draw.pick(std::array<std::int64_t, 8>{0, 0, 0, 1, 1, 1, 2, 3});
  return list;
}

CaseValue draw_attribute(Draw& draw, const Case& c, std::size_t i, Dtype result_dtype) {
  const Argument& a = c.op->schema.argument_storage[i];
  const Domain& d = domain(*c.op, a.name);
  if (d.has_axes()) {
    const Shape& of = std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(d.of)]).shape;
    if (a.optional && draw.chance(20)) return None{};
    if (a.list && draw.chance(15)) return std::vector<std::int64_t>{};
    if (!a.list && !d.filled) {
      const auto rank = std::max<std::int64_t>(static_cast<std::int64_t>(of.size()), 1);
      return draw.range(-rank, rank - 1);
    }
    const std::vector<std::int64_t> axes = draw_axes(draw, of, d.filled);
    return a.list ? CaseValue{axes} : CaseValue{axes[0]};
  }
  if (d.is_spatial()) return draw_spatial(draw, c, i, d);
  switch (d.kind) {
    case Domain::Kind::epsilon:
      return draw.pick(std::array{1e-5, 1e-5, 1e-5, 1e-5, 1e-3, 1e-3, 1e-12, 1e-12, 0.1, 0.1, 0.0, 1e-38});
    case Domain::Kind::fraction:
      return draw.pick(std::array{0.1, 0.1, 0.01, 0.5, 1.0 / 3, 0.0, 1.0});
    case Domain::Kind::natural:
      if (a.optional && draw.chance(30)) return None{};
      return draw.pick(std::array<std::int64_t, 6>{0, 1, 1, 2, 3, 7});
    case Domain::Kind::divisor: {
      const std::int64_t of = std::get<std::int64_t>(c.arguments[static_cast<std::size_t>(d.of)]);
      std::vector<std::int64_t> divisors{1};
      for (std::int64_t k = 2; k <= of; ++k)
        if (of % k == 0) divisors.push_back(k);
      return draw.pick(divisors);
    }
    case Domain::Kind::mask: {
      std::vector<std::int64_t> mask(c.op->schema.result_count, 1);
      if (draw.chance(30))
        for (std::int64_t& computed : mask) computed = draw.chance(60) ? 1 : 0;
      return mask;
    }
    default:
      break;
  }
  if (a.type == Type::boolean && !a.list && !a.optional) return draw.chance(50);
  const auto none = [](const CaseValue& v) { return std::holds_alternative<None>(v); };
  const bool may_be_none = a.optional && !(d.for_integers && !is_float(result_dtype)) &&
                           (d.unless < 0 || !none(c.arguments[static_cast<std::size_t>(d.unless)]));
  if (d.kind == Domain::Kind::format) {
    const std::size_t rank = std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(d.of)]).shape.size();
    std::vector<CaseValue> fitting{None{}};
    for (const auto f : {MemoryFormat::contiguous_format, MemoryFormat::preserve_format,
                         MemoryFormat::channels_last, MemoryFormat::channels_last_3d})
      if (rank_of(f) == 0 || rank_of(f) == rank) fitting.insert(fitting.end(), rank_of(f) == 0 ? 1 : 3, f);
    return draw.pick(fitting);
  }
  if (d.kind == Domain::Kind::scale && may_be_none && draw.chance(60)) return None{};
  // They may be as small and as large as numbers are, more often where results are numbers, not integers of few bits.
  if (d.kind == Domain::Kind::scale && a.type == Type::real && !a.optional &&
      draw.chance(is_float(result_dtype) ? 25 : 12))
    return draw.pick(
        std::array{1e30, 3e38, 1e-30, 1e-38, 0x1p-140, 0x1p-140});  // of the last 1 / scale is infinite
  // Powers of two, for which ties are ties, above all those by which integers are ties.
  if (d.kind == Domain::Kind::scale)
    return draw.pick(std::array{0x1p-7, 0x1p-3, 0.5, 1.0, 2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 0.1, 1.0 / 3,
                                0.0123, 7e-3, 1.9, 2.75, 64.0, 1e-4});
  if (d.kind == Domain::Kind::zero_point) {
    const CaseValue& of = c.arguments[static_cast<std::size_t>(d.of)];
    const auto* tensor = std::get_if<TensorSpec>(&of);
    const IntegerRange range = integer_range(tensor != nullptr ? tensor->dtype : std::get<Dtype>(of));
    const auto least = static_cast<std::int64_t>(range.least),
               greatest = static_cast<std::int64_t>(range.greatest);
    // 127 and 128, or 0 and 1: an odd one that is no end tells whether it is added before ties go to even.
    const std::int64_t middle = (least + greatest) / 2;
    return draw.pick(std::array{least, greatest, least + 1, middle, middle + 1, draw.range(least, greatest)});
  }
  if (d.kind == Domain::Kind::integer && d.filled) {
    if (may_be_none && draw.chance(50)) return None{};
    return draw.pick(std::array<std::int64_t, 5>{1, 2, 3, 7, -5});
  }
  if (d.kind == Domain::Kind::integer) return draw.pick(std::array<std::int64_t, 6>{-1, 0, 1, 2, 3, -7});
  if (d.kind == Domain::Kind::one_of) {
    if (may_be_none && draw.chance(35)) return None{};
    return std::string(draw.pick(d.choices));
  }
  if (d.kind == Domain::Kind::real) {
    if ((may_be_none || (a.has_default && !a.optional)) && draw.chance(35))
      return a.has_default ? default_value(a) : None{};
    const CaseValue drawn = draw_scalar(draw, result_dtype);
    const auto* integer = std::get_if<std::int64_t>(&drawn);
    return a.type == Type::real && integer != nullptr ? CaseValue{static_cast<double>(*integer)} : drawn;
  }
  return c.arguments[i];
}

// What the alternative says of an argument that is no tensor.
CaseValue bound_value(const ShapeAlternative& alternative, const ShapeBinding& binding, std::size_t i) {
  if (const ShapePattern* p = alternative.pattern_of(i)) return instantiate(*p, binding);
  for (const BoundNumber& n : alternative.numbers)
    if (n.argument == static_cast<int>(i)) return n.value(binding);
  const auto flag = std::ranges::find(alternative.flags, static_cast<int>(i), &BoundFlag::argument);
  return flag->value;
}

}  // namespace

Case with_shapes(const Operator& op, Dtype dtype, const ShapeAlternative& alternative,
                 const ShapeBinding& binding, Draw* draw) {
  Case c;
  c.op = &op;
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) {
    const Argument& a = op.schema.argument_storage[i];
    if (!a.is_tensor() && alternative.binds(i)) {
      c.arguments.push_back(bound_value(alternative, binding, i));
      continue;
    }
    const ShapePattern* pattern = alternative.pattern_of(i);
    // It may be absent, as what it may not be absent without is there.
    const auto spared = [&](const Argument& x) {
      const int without = domain(op, x.name).unless;
      return without < 0 || c.arguments[static_cast<std::size_t>(without)] != CaseValue{None{}};
    };
    const bool present = pattern != nullptr && a.is_tensor() && !a.list &&
                         !(a.optional && draw != nullptr && domain(op, a.name).kind != Domain::Kind::given &&
                           spared(a) && may_be_absent(op, alternative, *pattern) && draw->chance(30));
    if (!present) {
      c.arguments.push_back(default_of(op, i, dtype));
      continue;
    }
    const std::vector<Dtype> own = domain(op, a.name).own;
    if (pattern->computed()) {
      c.arguments.push_back(TensorSpec{own.empty() ? dtype : own.front(), {}, {}});
      continue;
    }
    Shape shape = instantiate(*pattern, binding);
    if (pattern->broadcast && draw != nullptr) shape = broadcastable(*draw, shape);
    const Dtype usual = own.empty()                         ? dtype
                        : draw != nullptr && own.size() > 1 ? draw->pick(own)
                                                            : own.front();
    c.arguments.push_back(TensorSpec{usual, std::move(shape), {}});
  }
  // Where there are no rows, no index could be right.
  for (std::size_t i = 0; i < op.schema.argument_count; ++i)
    if (const Domain& d = domain(op, op.schema.argument_storage[i].name);
        d.kind == Domain::Kind::index && !d.plane)
      if (Shape& rows = std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(d.of)]).shape; rows[0] == 0)
        if (numel(std::get<TensorSpec>(c.arguments[i]).shape) > 0) rows[0] = 1;
  // Of integers, which otherwise give i64.
  const int asked = op.dtype_rule == DtypeRule::dtype_argument ? op.schema.find("dtype") : -1;
  if (asked >= 0 && !is_float(dtype) && dtype != Dtype::i64)
    c.arguments[static_cast<std::size_t>(asked)] = dtype;
  return settled(std::move(c));
}

void draw_dtypes(Draw& draw, Case& c, Dtype result_dtype) {
  if (!draw.chance(25)) return;
  // Of integers all are; of floating-point numbers mostly those, for there are more dtypes of integers.
  const bool floats = is_float(result_dtype);
  const bool integers = !floats || (c.op->in_integers && draw.chance(20));
  std::vector<Dtype> allowed;
  for (int d = 0; d < kDtypes; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    if (c.op->dtypes.contains(dtype) && (is_float(dtype) ? floats : integers)) allowed.push_back(dtype);
  }

  if (c.op->dtype_rule == DtypeRule::promote) {
    // What promotion gives depends on ranks too: try, and keep what gives the dtype asked for.
    for (int attempt = 0; attempt < 8; ++attempt) {
      Case mixed = c;
      for (TensorSpec* t : tensors_of(mixed))
        if (t->dtype != Dtype::boolean) t->dtype = draw.pick(allowed);
      const Checked checked = check_case(mixed);
      if (checked.ok() && checked.outputs[0].computed_in == result_dtype) {
        c = std::move(mixed);
        return;
      }
    }
    return;
  }
  const int i = c.op->schema.find("dtype");
  if (c.op->dtype_rule != DtypeRule::dtype_argument || i < 0) return;
  c.arguments[static_cast<std::size_t>(i)] = result_dtype;
  const Dtype input = draw.pick(allowed);
  for (std::size_t k = 0; k < c.arguments.size(); ++k)
    if (auto* t = std::get_if<TensorSpec>(&c.arguments[k]))
      if (domain(*c.op, c.op->schema.argument_storage[k].name).own.empty()) t->dtype = input;
}

void draw_layouts(Draw& draw, Case& c) {
  if (draw.chance(40)) return;
  for (TensorSpec* t : tensors_of(c))
    if (draw.chance(80)) t->layout = draw_layout(draw, t->shape, true);
}

void draw_attributes(Draw& draw, Case& c, Dtype result_dtype) {
  const ShapeMatch match = match_case(c);
  const ShapeAlternative& alternative =
      shape_rule(*c.op).alternatives[static_cast<std::size_t>(std::max(match.alternative, 0))];
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (!a.is_tensor() && a.type != Type::dtype && !alternative.binds(i))
      c.arguments[i] = draw_attribute(draw, c, i, result_dtype);
  }
  c = settled(std::move(c));
}

CaseValue as_dtype_takes(const Operator& op, std::size_t argument, const CaseValue& value,
                         Dtype result_dtype) {
  if (op.schema.argument_storage[argument].type != Type::scalar || !op.in_integers || is_float(result_dtype))
    return value;
  const auto* real = std::get_if<double>(&value);
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer == nullptr && real == nullptr) return value;
  // Where a double has no room for the ends of i64, 2^53 has.
  constexpr double kExact = 1LL << 53;
  const IntegerRange range = integer_range(result_dtype);
  const double least = std::max(range.least, -kExact), greatest = std::min(range.greatest, kExact);
  if (integer != nullptr &&
      (result_dtype == Dtype::i64 || (static_cast<double>(*integer) >= std::min(least, -greatest) &&
                                      static_cast<double>(*integer) <= greatest)))
    return value;
  const double x = integer != nullptr ? static_cast<double>(*integer) : *real;
  if (std::isnan(x)) return std::int64_t{0};
  return static_cast<std::int64_t>(std::clamp(x < 0 ? std::floor(x) : std::ceil(x), least, greatest));
}

void redraw_attribute(Draw& draw, Case& c, std::size_t argument, Dtype result_dtype) {
  c.arguments[argument] = draw_attribute(draw, c, argument, result_dtype);
}

}  // namespace assay
