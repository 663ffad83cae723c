#include "domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "once_per_operator.h"

namespace assay {
namespace {

std::string_view without_spaces(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

// The text after "argument:" in a list "argument: text; ...", without spaces around it; empty if there is none.
std::string_view clause_of(std::string_view list, std::string_view argument) {
  while (!list.empty()) {
    const std::size_t end = list.find(';');
    const std::string_view clause = without_spaces(list.substr(0, end));
    list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
    const std::size_t colon = clause.find(':');
    if (colon != std::string_view::npos && without_spaces(clause.substr(0, colon)) == argument)
      return without_spaces(clause.substr(colon + 1));
  }
  return {};
}

Domain parse_domain(const Operator& op, std::string_view argument) {
  std::string_view what = clause_of(op.domains, argument);
  if (what.empty()) return {};
  Domain d;
  constexpr std::string_view kUnless = " unless ";
  if (const std::size_t at = what.find(kUnless); at != std::string_view::npos) {
    d.unless = op.schema.find(without_spaces(what.substr(at + kUnless.size())));
    what = without_spaces(what.substr(0, at));
  }
  constexpr std::string_view kForIntegers = " for integers";
  if (what.ends_with(kForIntegers)) {
    d.for_integers = true;
    what.remove_suffix(kForIntegers.size());
  }
  enum class Brackets : std::uint8_t { none, name, perhaps_name, choices, perhaps_choices };
  struct Named {
    std::string_view name;
    Domain::Kind kind;
    Brackets brackets = Brackets::none;
    bool filled = false;
  };
  constexpr Named kNames[] = {{"axis", Domain::Kind::axis, Brackets::name},
                              {"axes", Domain::Kind::axes, Brackets::name},
                              {"filled_axis", Domain::Kind::axis, Brackets::name, true},
                              {"filled_axes", Domain::Kind::axes, Brackets::name, true},
                              {"real", Domain::Kind::real},
                              {"epsilon", Domain::Kind::epsilon},
                              {"fraction", Domain::Kind::fraction},
                              {"natural", Domain::Kind::natural},
                              {"divisor", Domain::Kind::divisor, Brackets::name},
                              {"window", Domain::Kind::window, Brackets::perhaps_name},
                              {"positives", Domain::Kind::positives, Brackets::perhaps_name},
                              {"naturals", Domain::Kind::naturals, Brackets::perhaps_name},
                              {"mask", Domain::Kind::mask, Brackets::perhaps_choices},
                              {"given", Domain::Kind::given},
                              {"one_of", Domain::Kind::one_of, Brackets::choices},
                              {"dtype", Domain::Kind::dtype},
                              {"dtype_of", Domain::Kind::dtype_of, Brackets::name},
                              {"boolean", Domain::Kind::boolean},
                              {"index", Domain::Kind::index, Brackets::name},
                              {"place", Domain::Kind::index, Brackets::name},
                              {"integer", Domain::Kind::integer},
                              {"nonzero", Domain::Kind::integer, Brackets::none, true},
                              {"format", Domain::Kind::format, Brackets::name},
                              {"dtypes", Domain::Kind::dtypes, Brackets::choices},
                              {"scale", Domain::Kind::scale},
                              {"zero_point", Domain::Kind::zero_point, Brackets::name},
                              {"scales", Domain::Kind::scales},
                              {"zero_points", Domain::Kind::zero_points, Brackets::name}};
  const std::size_t bracket = std::min(what.find('('), what.size());
  std::string_view inside = what.substr(bracket);  // "(...)", or nothing
  const bool closed = inside.ends_with(')');
  if (closed) inside = inside.substr(1, inside.size() - 2);
  const auto* named = std::ranges::find(kNames, what.substr(0, bracket), &Named::name);
  const Brackets brackets = named != std::end(kNames) ? named->brackets : Brackets::none;
  const bool has_choices = brackets == Brackets::choices || brackets == Brackets::perhaps_choices;
  const bool free = brackets == Brackets::perhaps_name || brackets == Brackets::perhaps_choices;
  bool known = named != std::end(kNames) && (closed || inside.empty()) &&
               (free || closed == (brackets != Brackets::none));
  if (known) {
    d.kind = named->kind;
    d.filled = named->filled;
    if (d.kind == Domain::Kind::boolean) d.own.push_back(Dtype::boolean);
    if (d.kind == Domain::Kind::scales) d.own.push_back(Dtype::f32);
    if (d.kind == Domain::Kind::zero_points) d.own.push_back(Dtype::i32);
    d.plane = named->name == "place";
    if (d.kind == Domain::Kind::index) d.own.push_back(Dtype::i64);
    if (named->name == "index") d.own.push_back(Dtype::i32);
    if (closed && !has_choices) {
      d.of = op.schema.find(inside);
      known = d.of >= 0;
    }
    while (has_choices && !inside.empty()) {
      const std::size_t comma = inside.find(',');
      d.choices.push_back(without_spaces(inside.substr(0, comma)));
      inside.remove_prefix(comma == std::string_view::npos ? inside.size() : comma + 1);
    }
  }
  for (const std::string_view choice :
       d.kind == Domain::Kind::dtypes ? d.choices : std::vector<std::string_view>{}) {
    const std::optional<Dtype> dtype = dtype_named(choice);
    known = known && dtype;
    if (dtype) d.own.push_back(*dtype);
  }
  if (!known)
    throw std::invalid_argument(
        fmt::format("{}: unknown domain \"{}\" of {}", op.schema.name, what, argument));
  return d;
}

std::vector<Range> parse_ranges(const Operator& op, std::string_view argument) {
  constexpr std::string_view kDots = "..";
  std::vector<Range> all;
  std::string_view list = clause_of(op.ranges, argument);
  const auto number = [](std::string_view s) -> std::optional<double> {
    double value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    return error == std::errc{} && end == s.data() + s.size() ? std::optional(value) : std::nullopt;
  };
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    const std::size_t dots = std::min(one.find(kDots), one.size());
    const auto least = number(without_spaces(one.substr(0, dots)));
    const auto greatest = number(without_spaces(one.substr(std::min(dots + kDots.size(), one.size()))));
    if (!least || !greatest || *least >= *greatest)
      throw std::invalid_argument(
          fmt::format("{}: \"{}\" is no range LEAST..GREATEST of {}", op.schema.name, one, argument));
    all.push_back({*least, *greatest});
  }
  return all;
}

// Of every argument, in the schema's order, and what an argument has that the schema does not have.
template <class Each>
struct OfArguments {
  std::vector<Each> all;
  Each none{};

  const Each& of(const Operator& op, std::string_view argument) const {
    const int i = op.schema.find(argument);
    return i < 0 ? none : all[static_cast<std::size_t>(i)];
  }
};

template <class Each, Each (*parse)(const Operator&, std::string_view)>
OfArguments<Each> parse_all(const Operator& op) {
  OfArguments<Each> parsed;
  for (const Argument& a : op.schema.arguments()) parsed.all.push_back(parse(op, a.name));
  return parsed;
}

}  // namespace

const Domain& domain(const Operator& op, std::string_view argument) {
  return once_per_operator<OfArguments<Domain>>(op, parse_all<Domain, parse_domain>).of(op, argument);
}

const std::vector<Range>& ranges(const Operator& op, std::string_view argument) {
  using Ranges = std::vector<Range>;
  return once_per_operator<OfArguments<Ranges>>(op, parse_all<Ranges, parse_ranges>).of(op, argument);
}

}  // namespace assay
