// What a diff says: as text, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "../model/results.h"
#include "diff.h"
#include "reports/text.h"

namespace assay::diff {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLikely = 8;

std::string tensor_text(Dtype dtype, const Shape& shape) {
  return fmt::format("{}[{}]", name(dtype), text(shape));
}

std::string number(double x, std::optional<std::int64_t> integer, Dtype dtype) {
  if (integer) return std::to_string(*integer);
  return dtype == Dtype::f64 ? fmt::format("{:.17g}", x) : fmt::format("{:.9g}", x);
}

std::string percent(double share) {
  if (share > 0.9995 && share < 1) return "99.9%";
  return fmt::format("{:.{}f}%", share * 100, share < 1 && share > 0 ? 1 : 0);
}

std::string_view plainly(Class c) {
  switch (c) {
    case Class::zero_sign:
      return "0 and -0";
    case Class::one_ulp:
      return "1 ulp apart";
    case Class::small:
      return "2 to 16 ulp apart";
    case Class::large:
      return "more than 16 ulp apart";
    case Class::nonfinite:
      return "NaN or infinite on one side";
    case Class::equal:
      break;
  }
  return "equal";
}

// In front of words that begin with a number, what is counted is said.
std::string number_of(std::uint64_t n, Class c) {
  return c == Class::one_ulp || c == Class::small ? counted(n, "element") : grouped(n);
}

std::string elements_of(const TensorDiff& d) {
  if (d.described == Class::small) return "more than 1 ulp apart";
  if (d.described != Class::large || d.comparison->of(Class::nonfinite) == 0)
    return std::string(plainly(d.described));
  return "more than 16 ulp apart, NaN or infinite on one side";
}

std::string title(const TensorDiff& d) {
  std::string s = d.name_a;
  if (d.name_b != d.name_a) s += " | " + d.name_b;
  s += "  " + tensor_text(d.dtype_a, d.shape_a);
  if (d.dtype_b != d.dtype_a || d.shape_b != d.shape_a) s += " | " + tensor_text(d.dtype_b, d.shape_b);
  return printable(s);
}

// A bar for each power of two of ulp, up to the last that has any.
std::string histogram(const Comparison& c) {
  std::size_t last = 0;
  std::uint64_t most = 1;
  for (std::size_t k = 0; k < c.histogram.size(); ++k)
    if (c.histogram[k] > 0) last = k, most = std::max(most, c.histogram[k]);
  std::string s;
  for (std::size_t k = 0; k <= last; ++k) {
    if (c.histogram[k] == 0) continue;
    const auto bar = static_cast<std::size_t>(
        std::ceil(30.0 * static_cast<double>(c.histogram[k]) / static_cast<double>(most)));
    const std::string range =
        k == 0   ? "1"
        : k == 1 ? "2"
        : k < 34 ? fmt::format("{} to {}", (std::uint64_t{1} << (k - 1)) + 1, std::uint64_t{1} << k)
                 : fmt::format("2^{} to 2^{}", k - 1, k);
    s += fmt::format("      {} {} {}\n", pad_left(range, 24), pad_left(grouped(c.histogram[k]), 14),
                     std::string(bar, '#'));
  }
  return s.empty() ? s
                   : fmt::format("    {} ulp of {:<5} {}\n", std::string(14, ' '), name(c.unit),
                                 pad_left("elements", 8)) +
                         s;
}

std::string rule_text(const TensorDiff& d) {
  if (!d.rule)
    return paragraph(fmt::format("No rule of place or size says which elements are {}: they are scattered.",
                                 elements_of(d)),
                     "    ", "    ");
  std::string said = d.rule->text == "everywhere" ? "Everywhere" : "Where " + d.rule->text;
  return paragraph(fmt::format("{}: {} of these elements are {}, and {} of those that are.", said,
                               percent(d.rule->precision), elements_of(d), percent(d.rule->recall)),
                   "    ", "    ");
}

std::string details(const TensorDiff& d) {
  const Comparison& c = *d.comparison;
  std::string classes;
  for (int k = 0; k < kClasses; ++k)
    if (const std::uint64_t n = c.counts[static_cast<std::size_t>(k)]; n > 0)
      classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", number_of(n, static_cast<Class>(k)),
                             plainly(static_cast<Class>(k)));
  std::string s = paragraph(fmt::format("{}.", classes), "    ", "    ");
  if (c.worst > Class::zero_sign)
    s += paragraph(fmt::format("Farthest: {} is {} in A and {} in B{}.",
                               index_text(d.shape_a, static_cast<std::int64_t>(c.farthest.element)),
                               number(c.farthest.a, c.farthest.integer_a, c.unit),
                               number(c.farthest.b, c.farthest.integer_b, c.unit),
                               c.worst == Class::nonfinite ? "" : fmt::format(", {} ulp", grouped(c.ulp))),
                   "    ", "    ");
  // Of integers it is the number of steps between them.
  const bool are_integers = c.widest.integer_a && c.widest.integer_b;
  if (c.difference > 0)
    s += paragraph(fmt::format("Largest difference: {} at {}; the largest number is {:.3g}.",
                               are_integers ? std::to_string(c.ulp) : fmt::format("{:.3g}", c.difference),
                               index_text(d.shape_a, static_cast<std::int64_t>(c.widest.element)), c.scale),
                   "    ", "    ");
  s += histogram(c);
  if (c.worst > Class::one_ulp) s += rule_text(d);
  if (d.small && !(d.rule && d.rule->text == "everywhere")) s += to_text(*d.small, "    ");
  return s;
}

// Where both files have tensors that nothing was found for in the other.
std::string not_compared(const Diff& diff) {
  if (diff.only_a.empty() || diff.only_b.empty()) return {};
  std::string s = paragraph(
      "These were not compared: no name in A is one in B, and none of the other file has the same shape and at least half of its "
      "numbers, as a wholly wrong result has not. --map FILE names pairs, in lines \"NAME_IN_A NAME_IN_B\".",
      "    ", "    ");
  for (std::size_t k = 0; k < diff.likely.size(); ++k) {
    if (k == kMostLikely) {
      s += fmt::format("    and {} more\n", diff.likely.size() - k);
      break;
    }
    const Diff::Likely& l = diff.likely[k];
    s += paragraph(fmt::format("Of one shape, with {} of their numbers alike: {} {}", percent(l.alike),
                               printable(l.a), printable(l.b)),
                   "    ", "      ");
  }
  return s;
}

json number_json(double x, std::optional<std::int64_t> integer) {
  if (integer) return *integer;
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

json extreme_json(const Extreme& e, const Shape& shape) {
  return {{"element", e.element},
          {"index", index_text(shape, static_cast<std::int64_t>(e.element))},
          {"a", number_json(e.a, e.integer_a)},
          {"b", number_json(e.b, e.integer_b)}};
}

json tensor_json(const TensorDiff& d) {
  json t{{"a", {{"name", d.name_a}, {"dtype", name(d.dtype_a)}, {"shape", d.shape_a}}},
         {"b", {{"name", d.name_b}, {"dtype", name(d.dtype_b)}, {"shape", d.shape_b}}},
         {"matched", d.how.empty() ? "by name" : d.how},
         {"same", !d.differs()}};
  if (d.comparison) {
    const Comparison& c = *d.comparison;
    for (int k = 0; k < kClasses; ++k)
      t["counts"][std::string(kClassNames[static_cast<std::size_t>(k)])] =
          c.counts[static_cast<std::size_t>(k)];
    t["ulp_of"] = name(c.unit);
    t["max_ulp"] = c.ulp;
    t["max_difference"] = c.difference;
    t["scale"] = c.scale;
    if (c.worst > Class::zero_sign) t["farthest"] = extreme_json(c.farthest, d.shape_a);
    std::vector<std::uint64_t> bars(c.histogram.begin(), c.histogram.end());
    while (!bars.empty() && bars.back() == 0) bars.pop_back();
    t["ulp_histogram"] = bars;
  }
  if (d.comparison && d.comparison->worst > Class::one_ulp)
    t["described"] = kClassNames[static_cast<std::size_t>(d.described)];
  if (d.rule)
    t["rule"] = {{"text", d.rule->text},
                 {"precision", d.rule->precision},
                 {"recall", d.rule->recall},
                 {"conditions", d.rule->conditions},
                 {"sampled", false}};  // counted on all of a tensor; who reads this key finds it
  if (!d.rounded.empty()) t["rounded"] = d.rounded;
  if (d.rearranged) t["rearranged"] = *d.rearranged;
  return t;
}

}  // namespace

std::string to_text(const Diff& diff, Style style) {
  std::string s;
  std::size_t different = 0;
  for (const TensorDiff& d : diff.tensors) {
    const bool differs = d.differs();
    different += differs ? 1 : 0;
    s += fmt::format("{}  {}\n", differs ? style.bad("differs") : style.good("same   "), title(d));
    if (!d.how.empty() && d.how != "--map")
      s += paragraph(fmt::format("Taken for each other: {}.", d.how), "    ", "    ");
    if (!d.comparison)
      s += paragraph("The shapes differ: no element is compared.", "    ", "    ");
    else if (differs || d.comparison->of(Class::zero_sign) > 0)
      s += details(d);
    if (!d.rounded.empty()) s += paragraph(d.rounded + ".", "    ", "    ");
    if (d.rearranged)
      s += paragraph(d.rearranged->starts_with("A is B ")
                         ? *d.rearranged + "."
                         : fmt::format("B is A rearranged: {}.", *d.rearranged),
                     "    ", "    ");
  }
  const auto only = [&](const std::vector<Diff::Unmatched>& tensors, std::string_view where) {
    for (const Diff::Unmatched& u : tensors)
      s += fmt::format("{}  {}  {}\n", style.bad(where), printable(u.name), u.what);
  };
  only(diff.only_a, "only in A");
  only(diff.only_b, "only in B");
  s += not_compared(diff);
  for (const std::string& u : diff.unsupported) s += paragraph(u, "not read: ", "    ");
  s += fmt::format("\n{} of {} differ{}{}{}{}.\n", different, counted(diff.tensors.size(), "tensor"),
                   different == 1 ? "s" : "",
                   diff.only_a.empty() ? "" : fmt::format("; {} only in A", diff.only_a.size()),
                   diff.only_b.empty() ? "" : fmt::format("; {} only in B", diff.only_b.size()),
                   diff.unsupported.empty() ? "" : fmt::format("; {} not read", diff.unsupported.size()));
  return s;
}

std::string to_svg(const Diff& diff) {
  std::vector<Drawn> drawn;
  for (const TensorDiff& d : diff.tensors)
    if (d.large)
      drawn.push_back({fmt::format("{}: elements that are {}", title(d), elements_of(d)), *d.large});
  return to_svg(drawn);
}

std::string to_json(const Diff& diff) {
  json j{{"format", "assay.diff/1"},   {"a", diff.file_a},         {"b", diff.file_b},
         {"same", !diff.differs()},    {"tensors", json::array()}, {"only_in_a", json::array()},
         {"only_in_b", json::array()}, {"likely", json::array()},  {"unsupported", diff.unsupported}};
  for (const Diff::Unmatched& u : diff.only_a) j["only_in_a"].push_back(u.name);
  for (const Diff::Unmatched& u : diff.only_b) j["only_in_b"].push_back(u.name);
  for (const Diff::Likely& l : diff.likely)
    j["likely"].push_back({{"a", l.a}, {"b", l.b}, {"alike", l.alike}});
  for (const TensorDiff& d : diff.tensors) j["tensors"].push_back(tensor_json(d));
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace assay::diff
