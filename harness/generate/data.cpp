#include "data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "case_size.h"
#include "check_case.h"
#include "edge.h"
#include "layouts.h"
#include "masked.h"
#include "tensor_copy.h"

namespace assay {
namespace {

// One number for each channel: every pattern of the argument is a single dimension that is not "*".
bool is_parameter(const Operator& op, int argument) {
  bool found = false;
  for (const ShapeAlternative& alternative : shape_rule(op).alternatives)
    for (const ShapePattern& p : alternative.inputs)
      if (p.argument == argument) {
        if (p.broadcast || p.dims.size() != 1 || p.dims[0].kind == DimPattern::Kind::run) return false;
        found = true;
      }
  return found;
}

const Family& family_of(const Case& c) {
  if (const Family* f = find_family(c.data)) return *f;
  std::vector<std::string_view> names;
  for (const Family& f : families()) names.push_back(f.name);
  throw CaseError(
      fmt::format("bad case text: data is \"{}\": the data families are {}", c.data, fmt::join(names, ", ")));
}

// The scale of a call that has one for all elements, else 0.
double step_of(const Case& c) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (a.type != Type::real || a.list || a.optional || domain(*c.op, a.name).kind != Domain::Kind::scale)
      continue;
    if (const auto* scale = std::get_if<double>(&c.arguments[i])) return *scale;
  }
  return 0;
}

// Where the formula changes: the operator's kinks, and of truth values the numbers that tensors are compared with.
std::string kinks_of(const Case& c) {
  std::string kinks(c.op->kinks);
  if (c.op->truths == 0) return kinks;
  for (const CaseValue& v : c.arguments) {
    const auto* real = std::get_if<double>(&v);
    const auto* integer = std::get_if<std::int64_t>(&v);
    if (integer == nullptr && (real == nullptr || !std::isfinite(*real))) continue;
    kinks += integer != nullptr ? fmt::format(", {}", *integer) : fmt::format(", {}", *real);
  }
  return kinks;
}

// What the families know of every tensor of the call, in schema order, those of lists included.
std::vector<Target> targets_of(const Case& c, Dtype result) {
  std::vector<Target> targets;
  std::int64_t terms = 1;
  const bool masked = c.data == kMasked;
  const double step = step_of(c);
  const std::string kinks = kinks_of(c);
  const auto add = [&](const TensorSpec& spec, std::size_t argument, std::size_t item) {
    Target t;
    if (masked) t.axes = reduced_axes(c, argument);
    t.dtype = spec.dtype;
    t.shape = spec.shape;
    t.ordinal = static_cast<int>(targets.size());
    t.parameter = is_parameter(*c.op, static_cast<int>(argument));
    t.kinks = kinks;
    t.ranges = ranges(*c.op, c.op->schema.argument_storage[argument].name);
    const Domain& d = domain(*c.op, c.op->schema.argument_storage[argument].name);
    const auto* of =
        d.of < 0 ? nullptr : std::get_if<TensorSpec>(&c.arguments[static_cast<std::size_t>(d.of)]);
    if (d.kind == Domain::Kind::index && of != nullptr) t.rows = d.choices_of(of->shape);
    if (d.kind == Domain::Kind::zero_points && of != nullptr) t.zero_points = integer_range(of->dtype);
    if (d.kind == Domain::Kind::integer && d.filled && !is_float(result)) t.nonzero = result;
    t.scales = d.kind == Domain::Kind::scales;
    if (is_float(spec.dtype)) t.step = step;
    t.own = Stream(mix(c.seed, mix(argument + 1, item)));
    t.shared = Stream(mix(c.seed, 0));
    terms = std::max(terms, numel(spec.shape));
    targets.push_back(std::move(t));
  };
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (const auto* spec = std::get_if<TensorSpec>(&c.arguments[i])) add(*spec, i, 0);
    if (const auto* list = std::get_if<std::vector<TensorSpec>>(&c.arguments[i]))
      for (std::size_t n = 0; n < list->size(); ++n) add((*list)[n], i, n);
  }
  for (Target& t : targets) {
    t.tensors = static_cast<int>(targets.size());
    t.terms = (c.op->properties & kElementwise) != 0 ? 1 : terms;
    t.precision = format(result == Dtype::f64 ? Dtype::f64 : Dtype::f32).precision;
    for (const Target& other : targets)
      if (t.twin < 0 && other.ordinal != t.ordinal && other.shape == t.shape) t.twin = other.ordinal;
  }
  return targets;
}

// Integer tensors take continuous families in sixteenths, so that not everything is 0.
void to_integers(Dtype dtype, std::span<double> values) {
  const IntegerRange range = integer_range(dtype);
  const bool whole = std::ranges::all_of(values, [](double v) { return v == std::nearbyint(v); });
  for (double& v : values) {
    if (!whole && dtype != Dtype::boolean) v *= 16;
    if (range.least == 0) v = std::fabs(v);
    v = std::isnan(v) ? 0 : std::clamp(std::nearbyint(v), range.least, range.greatest);
  }
}

// Whether integers of the family are large ones that differ in their last digits alone: of these a kernel that takes them through
// floating-point numbers of 24 or 53 bits makes one number.
bool are_close(Dtype dtype, const Family& family, const Target& target) {
  return (dtype == Dtype::i32 || dtype == Dtype::i64) && family.name == "wide" && !target.nonzero &&
         (target.shared.word(1u << 27) & 1) != 0;
}

void fill_close(TensorData& t, const Target& target) {
  constexpr std::int64_t kOne = 1;
  constexpr std::array kOf32{kOne << 24, -(kOne << 24), kOne << 30, (kOne << 31) - 8};
  constexpr std::array kOf64{kOne << 24, kOne << 32, kOne << 53, -(kOne << 53), kOne << 62};
  const std::int64_t base =
      t.dtype == Dtype::i32
          ? kOf32[static_cast<std::size_t>(target.shared.below((1u << 27) + 1, std::ssize(kOf32)))]
          : kOf64[static_cast<std::size_t>(target.shared.below((1u << 27) + 1, std::ssize(kOf64)))];
  for (std::int64_t i = 0; i < t.numel(); ++i)
    store_integer(t.element(i), t.dtype, base + target.own.below(static_cast<std::uint64_t>(i), 9) - 4);
}

void store_rows(TensorData& t, std::span<const double> values) {
  const std::size_t rank = t.shape.size();
  const std::int64_t inner = rank == 0 ? 1 : t.shape[rank - 1];
  const std::int64_t step = rank == 0 ? 1 : t.strided.strides[rank - 1];
  const int size = bytes(t.dtype);
  Shape index(rank, 0);
  std::int64_t at = t.strided.offset;
  for (std::size_t i = 0; i < values.size();) {
    std::byte* row = t.memory.data() + at * size;
    const auto numbers = values.subspan(i, static_cast<std::size_t>(inner));
    i += numbers.size();
    if (step == 1)
      store_all(row, t.dtype, numbers);
    else
      for (std::int64_t j = 0; j < inner; ++j)
        store(row + j * step * size, t.dtype, numbers[static_cast<std::size_t>(j)]);
    for (std::size_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
      at += t.strided.strides[d];
      if (++index[d] < t.shape[d]) break;
      at -= t.strided.strides[d] * t.shape[d];
      index[d] = 0;
    }
  }
}

TensorData filled(const TensorSpec& spec, const Family& family, const Target& target) {
  TensorData t(spec.dtype, spec.shape, spec.layout);
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  if (values.empty()) return t;
  if (target.rows <= 0 && !target.scales && !target.zero_points && are_close(spec.dtype, family, target)) {
    fill_close(t, target);
    return t;
  }
  if (target.rows > 0)
    fill_index(target, family.name, values);
  else if (target.scales)
    fill_scales(target, values);
  else if (target.zero_points)
    fill_zero_points(target, values);
  else
    family.fill(target, values);
  if (!is_float(spec.dtype)) to_integers(spec.dtype, values);
  if (target.nonzero) keep_from_zero(target, family.name, values);
  store_rows(t, values);
  return t;
}

// The finite number that a tensor is compared with, if the call has one.
std::optional<double> compared_with(const Case& c) {
  for (const CaseValue& v : c.arguments) {
    if (const auto* integer = std::get_if<std::int64_t>(&v)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&v); real != nullptr && std::isfinite(*real)) return *real;
  }
  return std::nullopt;
}

// Where elements are compared about half of them are made equal, in three of four cases, and half of these zero: of numbers that are
// drawn none would be, and a kernel that always says "different", or "true", would hardly be told from a right one.
void make_some_equal(const Case& c, const std::vector<Target>& targets, Call& call) {
  if (c.op->truths == 0 || targets.empty() || targets[0].shared.below(1u << 25, 4) == 0) return;
  const auto word = [&](std::int64_t i) {
    return targets[0].shared.word((1u << 25) + 1 + static_cast<std::uint64_t>(i));
  };
  TensorData* first = nullptr;
  bool alone = true;
  for (CallValue& value : call.arguments) {
    auto* const t = std::get_if<TensorData>(&value);
    if (t == nullptr) continue;
    if (first == nullptr) {
      first = t;
      for (std::int64_t i = 0; i < t->numel(); ++i)
        if ((word(i) & 3) == 3) std::memset(t->element(i), 0, static_cast<std::size_t>(bytes(t->dtype)));
      continue;
    }
    alone = false;
    if (t->dtype != first->dtype || t->shape != first->shape) continue;
    for (std::int64_t i = 0; i < t->numel(); ++i)
      if ((word(i) & 1) != 0)
        std::memcpy(t->element(i), first->element(i), static_cast<std::size_t>(bytes(t->dtype)));
  }
  const std::optional<double> number = compared_with(c);
  if (!alone || !number || !is_float(first->dtype)) return;
  for (std::int64_t i = 0; i < first->numel(); ++i)
    if ((word(i) & 1) != 0) first->set(i, *number);
}

}  // namespace

Checked check_without_data(const Case& c) {
  family_of(c);
  Checked checked = check_case(c);
  check_size(c, checked.outputs);
  return checked;
}

Call materialise(const Case& c) {
  Checked checked = check_without_data(c);
  const Family& family = family_of(c);
  Call call;
  call.op = c.op;
  call.error = std::move(checked.error);
  call.blamed = std::move(checked.argument);
  call.outputs = std::move(checked.outputs);

  std::vector<Shape> shapes;
  for (const Checked::Output& output : call.outputs) shapes.push_back(output.shape);
  call.output_layouts = output_layouts(c, shapes);

  const std::vector<Target> targets =
      targets_of(c, call.outputs.empty() ? Dtype::f32 : call.outputs[0].computed_in);
  std::size_t next = 0;
  for (const CaseValue& value : c.arguments) {
    call.arguments.push_back(std::visit(
        [&](const auto& v) -> CallValue {
          using V = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<V, TensorSpec>) {
            return filled(v, family, targets[next++]);
          } else if constexpr (std::is_same_v<V, std::vector<TensorSpec>>) {
            std::vector<TensorData> list;
            for (const TensorSpec& spec : v) list.push_back(filled(spec, family, targets[next++]));
            return list;
          } else {
            return v;
          }
        },
        value));
  }
  make_some_equal(c, targets, call);
  if (call.error.empty() && may_be_refused(family.name)) {
    Checked filled = check_arguments(*c.op, Arguments(call).values());
    call.error = std::move(filled.error);
    call.blamed = std::move(filled.argument);
    call.outputs = std::move(filled.outputs);
    call.output_layouts.resize(call.outputs.size());
  }
  return call;
}

}  // namespace assay
