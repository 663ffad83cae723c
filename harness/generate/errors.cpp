#include "errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>

#include "cases.h"
#include "check_case.h"
#include "data.h"
#include "draw.h"
#include "random.h"

namespace assay {
namespace {

// Breaks one argument of the case and returns its new value as text; empty if there is nothing to break this way.
struct Breakage {
  std::string_view what;
  std::string (*apply)(Draw&, Case&, std::size_t argument);
};

TensorSpec* tensor(Case& c, std::size_t i) { return std::get_if<TensorSpec>(&c.arguments[i]); }

std::string reshaped(TensorSpec& t, Shape shape) {
  t.shape = std::move(shape);
  t.layout = {};
  return text(t.shape);
}

std::string another_size(Draw& draw, Case& c, std::size_t i) {
  TensorSpec* t = tensor(c, i);
  if (t == nullptr || t->shape.empty()) return {};
  Shape shape = t->shape;
  std::int64_t& size =
      shape[static_cast<std::size_t>(draw.range(0, static_cast<std::int64_t>(shape.size()) - 1))];
  switch (draw.range(0, 4)) {
    case 0:
      size += 1;
      break;
    case 1:
      size = size > 2 ? size - 1 : size + 2;
      break;
    case 2:
      size = size * 2 + 1;
      break;
    case 3:
      size = size == 0 ? 3 : 0;
      break;
    default:
      size = size == 1 ? 2 : 1;
      break;
  }
  return reshaped(*t, std::move(shape));
}

std::string another_rank(Draw& draw, Case& c, std::size_t i) {
  TensorSpec* t = tensor(c, i);
  if (t == nullptr) return {};
  Shape shape = t->shape;
  if (shape.empty() || draw.chance(50))
    shape.insert(shape.begin(), draw.range(2, 3));
  else
    shape.pop_back();
  return shape.empty() ? std::string{} : reshaped(*t, std::move(shape));  // "" would be found in any message
}

std::string swapped_dimensions(Draw&, Case& c, std::size_t i) {
  TensorSpec* t = tensor(c, i);
  if (t == nullptr || t->shape.size() < 2 || t->shape.front() == t->shape.back()) return {};
  Shape shape = t->shape;
  std::swap(shape.front(), shape.back());
  return reshaped(*t, std::move(shape));
}

std::string unknown_dtype(Draw& draw, Case& c, std::size_t i) {
  std::vector<Dtype> others;
  for (int d = 0; d < kDtypes; ++d)
    if (!c.op->dtypes.contains(static_cast<Dtype>(d))) others.push_back(static_cast<Dtype>(d));
  if (others.empty()) return {};
  const Dtype dtype = draw.pick(others);
  if (TensorSpec* t = tensor(c, i)) {
    // ATen takes bytes, too, where it wants bool.
    if (!domain(*c.op, c.op->schema.argument_storage[i].name).own.empty() && t->dtype == Dtype::boolean)
      return {};
    t->dtype = dtype;
  } else if (c.op->schema.argument_storage[i].type == Type::dtype) {
    c.arguments[i] = dtype;
  } else {
    return {};
  }
  return std::string(name(dtype));
}

std::string mixed_dtypes(Draw& draw, Case& c, std::size_t i) {
  TensorSpec* t = tensor(c, i);
  if (t == nullptr) return {};
  std::vector<Dtype> others;
  for (int d = 0; d < kDtypes; ++d)
    if (c.op->dtypes.contains(static_cast<Dtype>(d)) && static_cast<Dtype>(d) != t->dtype)
      others.push_back(static_cast<Dtype>(d));
  if (others.empty()) return {};
  t->dtype = draw.pick(others);
  return std::string(name(t->dtype));
}

std::string axis_out_of_range(Draw& draw, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  if (!d.has_axes()) return {};
  const TensorSpec* of = tensor(c, static_cast<std::size_t>(d.of));
  const auto rank =
      std::max<std::int64_t>(of == nullptr ? 0 : static_cast<std::int64_t>(of->shape.size()), 1);
  const std::int64_t axis = draw.pick(std::array{rank, -rank - 1, rank + 7, -rank - 100});
  if (d.kind == Domain::Kind::axes)
    c.arguments[i] = std::vector<std::int64_t>{axis};
  else
    c.arguments[i] = axis;
  return fmt::format("{}", axis);
}

std::string unknown_choice(Draw&, Case& c, std::size_t i) {
  if (domain(*c.op, c.op->schema.argument_storage[i].name).kind != Domain::Kind::one_of) return {};
  c.arguments[i] = std::string("neither");
  return "neither";
}

std::string none_of_two(Draw&, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  if (d.unless < 0 || c.arguments[static_cast<std::size_t>(d.unless)] != CaseValue{None{}}) return {};
  c.arguments[i] = None{};
  return "None";
}

std::string none_or_given(Draw&, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  if (d.kind != Domain::Kind::given) return {};
  if (tensor(c, i) != nullptr) {
    c.arguments[i] = None{};
    return "None";
  }
  const TensorSpec* other = tensors_of(c).empty() ? nullptr : tensors_of(c).front();
  if (other == nullptr || other->shape.empty()) return {};
  c.arguments[i] = TensorSpec{other->dtype, {other->shape.front()}, {}};
  return text(tensor(c, i)->shape);
}

// The data of an index tensor, which the case's family decides.
std::string index_out_of_range(Draw& draw, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  if (d.kind != Domain::Kind::index) return {};
  const bool negative = draw.chance(50);
  c.data = negative ? kNegativeIndex : kPastEnd;
  return negative ? "-1" : fmt::format("{}", d.choices_of(tensor(c, static_cast<std::size_t>(d.of))->shape));
}

std::string axis_twice(Draw& draw, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  auto* list = std::get_if<std::vector<std::int64_t>>(&c.arguments[i]);
  if (d.kind != Domain::Kind::axes || list == nullptr || list->empty()) return {};
  const TensorSpec* of = tensor(c, static_cast<std::size_t>(d.of));
  const auto rank = static_cast<std::int64_t>(of == nullptr ? 0 : of->shape.size());
  if (rank == 0) return {};
  const std::int64_t axis = draw.pick(*list), dimension = axis < 0 ? axis + rank : axis;
  list->push_back(draw.chance(50) ? dimension : dimension - rank);
  return fmt::format("{} twice", dimension);
}

std::string not_the_size(Draw& draw, Case& c, std::size_t i) {
  const ShapeMatch match = match_case(c);
  if (!match.error.empty()) return {};
  const ShapeAlternative& alternative =
      shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)];
  if (!alternative.binds(i)) return {};
  const std::int64_t step = draw.pick(std::array<std::int64_t, 3>{-1, 1, 7});
  if (auto* number = std::get_if<std::int64_t>(&c.arguments[i])) return fmt::format("{}", *number += step);
  auto* list = std::get_if<std::vector<std::int64_t>>(&c.arguments[i]);
  if (list == nullptr || list->empty()) return {};
  std::int64_t& size =
      (*list)[static_cast<std::size_t>(draw.range(0, static_cast<std::int64_t>(list->size()) - 1))];
  return fmt::format("{}", size += step);
}

std::string not_a_divisor(Draw& draw, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  if (d.kind != Domain::Kind::divisor) return {};
  const std::int64_t of = std::get<std::int64_t>(c.arguments[static_cast<std::size_t>(d.of)]);
  c.arguments[i] = draw.pick(std::array<std::int64_t, 2>{of + 1, 2 * of + 3});
  return fmt::format("{}", std::get<std::int64_t>(c.arguments[i]));
}

std::string number_too_small(Draw& draw, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  auto* list = std::get_if<std::vector<std::int64_t>>(&c.arguments[i]);
  if (!d.is_spatial() || list == nullptr || list->empty()) return {};
  (*list)[static_cast<std::size_t>(draw.range(0, static_cast<std::int64_t>(list->size()) - 1))] =
      d.kind == Domain::Kind::naturals || draw.chance(50) ? -1 : 0;
  return fmt::format("[{}]", fmt::join(*list, ","));
}

std::string another_length(Draw& draw, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  auto* list = std::get_if<std::vector<std::int64_t>>(&c.arguments[i]);
  if (!d.is_spatial() || list == nullptr) return {};
  list->resize(list->size() + static_cast<std::size_t>(draw.range(1, 3)), 1);
  return fmt::format("[{}]", fmt::join(*list, ","));
}

// Of what the sizes of tensors are multiples.
std::string another_factor(Draw& draw, Case& c, std::size_t i) {
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) return {};
  const auto& numbers = shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)].numbers;
  if (std::ranges::find(numbers, static_cast<int>(i), &BoundNumber::argument) == numbers.end()) return {};
  c.arguments[i] = draw.pick(std::array<std::int64_t, 2>{0, -1});
  return fmt::format("{}", std::get<std::int64_t>(c.arguments[i]));
}

std::string format_of_another_rank(Draw& draw, Case& c, std::size_t i) {
  if (domain(*c.op, c.op->schema.argument_storage[i].name).kind != Domain::Kind::format) return {};
  const MemoryFormat f = draw.chance(50) ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
  c.arguments[i] = f;
  return std::string(name(f));
}

std::string zero_point_out_of_range(Draw& draw, Case& c, std::size_t i) {
  if (domain(*c.op, c.op->schema.argument_storage[i].name).kind != Domain::Kind::zero_point) return {};
  const std::int64_t value = draw.pick(std::array<std::int64_t, 4>{-129, 256, 1000, -7000});
  c.arguments[i] = value;
  return fmt::format("{}", value);
}

// Of a tensor, its data, which the case's family decides.
std::string zero(Draw&, Case& c, std::size_t i) {
  const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
  if (d.kind != Domain::Kind::integer || !d.filled) return {};
  if (tensor(c, i) != nullptr)
    c.data = kZeroDivisor;
  else
    c.arguments[i] = std::int64_t{0};
  return "0";
}

std::string none_among_integers(Draw&, Case& c, std::size_t i) {
  if (!domain(*c.op, c.op->schema.argument_storage[i].name).for_integers) return {};
  c.arguments[i] = None{};
  return "None";
}

std::string beyond_integers(Draw& draw, Case& c, std::size_t i) {
  if (!c.op->in_integers || c.op->schema.argument_storage[i].type != Type::scalar) return {};
  const std::int64_t value =
      draw.pick(std::array<std::int64_t, 4>{300, -300, std::int64_t{1} << 40, -(std::int64_t{1} << 40)});
  c.arguments[i] = value;
  return fmt::format("{}", value);
}

std::string real_among_integers(Draw& draw, Case& c, std::size_t i) {
  if (!c.op->in_integers || c.op->schema.argument_storage[i].type != Type::scalar) return {};
  const double value = draw.pick(std::array<double, 3>{0.5, 2, -1.25});
  c.arguments[i] = value;
  return fmt::format("{}", value);
}

constexpr Breakage kBreakages[] = {
    {"another size", another_size},
    {"another number of dimensions", another_rank},
    {"dimensions in another order", swapped_dimensions},
    {"a dtype that the operator does not take", unknown_dtype},
    {"another dtype than the other tensors", mixed_dtypes},
    {"an axis out of range", axis_out_of_range},
    {"a string that is no choice", unknown_choice},
    {"an index out of range", index_out_of_range},
    {"a memory format of another number of dimensions", format_of_another_rank},
    {"a zero point out of range", zero_point_out_of_range},
    {"zero where that is not allowed", zero},
    {"None for two of which one must be given", none_of_two},
    {"None where a tensor must be given, or a tensor where None must be", none_or_given},
    {"an axis that is named twice", axis_twice},
    {"a number that is no size of the tensors", not_the_size},
    {"a number of groups that leaves a rest", not_a_divisor},
    {"a number that is too small", number_too_small},
    {"a list of another length", another_length},
    {"a number that is no size", another_factor},
    {"a real number where integers are computed", real_among_integers},
    {"a number beyond the integers that are computed", beyond_integers},
    {"None where integers are computed", none_among_integers},
};

// Whether the breakage makes an error of e.valid's argument i, which then stands in e.
bool breaks(const Breakage& breakage, Draw& draw, std::size_t i, InvalidCase& e) {
  e.invalid = e.valid;
  e.value = breakage.apply(draw, e.invalid, i);
  if (e.value.empty()) return false;
  e.argument = e.valid.op->schema.argument_storage[i].name;
  e.broken = breakage.what;
  const Checked checked = check_case(e.invalid);
  std::string error = checked.error, blamed = checked.argument;
  if (checked.ok() && e.invalid.data != e.valid.data) {
    const Call call = materialise(e.invalid);
    error = call.error;
    blamed = call.blamed;
  }
  if (error.empty() || blamed != e.argument) return false;
  return error.find(e.argument) != std::string::npos && error.find(e.value) != std::string::npos;
}

}  // namespace

InvalidCase generate_error(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t index) {
  Draw draw(mix(mix(mix(seed, hash(op.schema.name)), static_cast<std::uint64_t>(result_dtype) + 64), index));
  // Not every breakage breaks every case: a size that becomes 1 still broadcasts. Only what the check rejects, for the
  // argument that was changed and for its new value, is an error case.
  constexpr int kTries = 200;
  // The cases that a run of the usual length has anyway: those that are planned (covering.h) cost nothing then.
  constexpr std::int64_t kOfOneRun = 200;
  // Arguments take turns, so that few cases ask for the check of each; many can be wrong in one way only.
  constexpr int kTriesInTurn = 12;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    InvalidCase e;
    e.valid = generate(op, result_dtype, seed,
                       ladder_length(op) + static_cast<std::uint64_t>(draw.range(0, kOfOneRun)));
    const std::uint64_t count = e.valid.arguments.size();
    const auto i = static_cast<std::size_t>(attempt < kTriesInTurn
                                                ? static_cast<std::int64_t>(index % count)
                                                : draw.range(0, static_cast<std::int64_t>(count) - 1));
    for (const std::int64_t k : draw.permutation(std::size(kBreakages)))
      if (breaks(kBreakages[k], draw, i, e)) return e;
  }
  throw std::logic_error(
      fmt::format("{}: no argument error was found in {} attempts", op.schema.name, kTries));
}

}  // namespace assay
