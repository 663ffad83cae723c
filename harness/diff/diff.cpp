#include "diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "content.h"
#include "pitch.h"
#include "rearranged.h"

namespace assay::diff {
namespace {

// Rules speak of the most severe class that there is: rounding, which is everywhere, would hide it.
Class described(const Comparison& c) {
  if (c.worst == Class::nonfinite && c.of(Class::large) > 0) return Class::large;
  return c.worst;
}

void describe(TensorDiff& d, const Elements& a, const Elements& b) {
  d.described = described(*d.comparison);
  const Mask set = elements_from(d.described, a, b);
  d.small = picture(d.shape_a, set, kTerminalRows, kTerminalColumns);
  d.large = picture(d.shape_a, set, kDrawnRows, kDrawnColumns);
  d.rule = smallest_rule(d.shape_a, set, {{"a", [&](std::uint64_t i) { return a[i]; }}});
}

bool is_rounded(const Elements& exact, const Elements& rounded) {
  const Format& f = format(rounded.dtype);
  for (std::uint64_t i = 0, n = exact.count(); i < n; ++i) {
    const double x = round_to(exact[i], f), y = rounded[i];
    if (!(x == y && std::signbit(x) == std::signbit(y)) && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

// Empty: neither is the other one in fewer bits.
std::string which_is_rounded(const Elements& a, const Elements& b) {
  if (!is_float(a.dtype) || !is_float(b.dtype)) return {};
  const int of_a = format(a.dtype).precision, of_b = format(b.dtype).precision;
  if (of_b < of_a && is_rounded(a, b)) return fmt::format("B is A rounded to {}", name(b.dtype));
  if (of_a < of_b && is_rounded(b, a)) return fmt::format("A is B rounded to {}", name(a.dtype));
  return {};
}

TensorDiff compare_tensors(const TensorFile& in_a, const TensorFile& in_b, const Pair& pair) {
  const TensorEntry &a = in_a.entries()[pair.a], &b = in_b.entries()[pair.b];
  TensorDiff d{a.name, b.name, pair.how, a.dtype, b.dtype, a.shape, b.shape, {}, {}, {}, {}, {}, {}};
  const Content x(in_a, a), y(in_b, b);
  if (a.shape == b.shape) {
    d.comparison = compare(x.elements(), y.elements());
    if (d.differs()) d.rounded = which_is_rounded(x.elements(), y.elements());
    if (d.comparison->worst <= Class::one_ulp) return d;
    describe(d, x.elements(), y.elements());
  }
  d.rearranged = rearranged(x.elements(), a.shape, y.elements(), b.shape);
  if (a.size == 0 || b.size == 0 || x.elements().count() == y.elements().count()) return d;
  d.rearranged = pitched(x.elements(), a.shape, y.elements().bytes, b.dtype);
  if (d.rearranged) return d;
  const std::optional<std::string> a_of_b = pitched(y.elements(), b.shape, x.elements().bytes, a.dtype);
  if (a_of_b) d.rearranged = fmt::format("A is B rearranged: {}", *a_of_b);
  return d;
}

}  // namespace

bool Diff::differs() const {
  return !only_a.empty() || !only_b.empty() || !unsupported.empty() ||
         std::ranges::any_of(tensors, &TensorDiff::differs);
}

bool Diff::is_blind() const { return tensors.empty() && only_a.empty() && only_b.empty(); }

std::string why_of_that_size(const RawSizeError& raw, const TensorFile& other) {
  for (const TensorEntry& e : other.entries()) {
    if (e.shape != raw.shape || e.size == 0) continue;
    const Content content(other, e);
    if (const auto found = pitched(content.elements(), e.shape, raw.file.bytes, raw.dtype))
      return fmt::format("; {}, as the numbers of \"{}\" in {} show", *found, e.name, other.path());
  }
  return {};
}

Diff diff(const TensorFile& a, const TensorFile& b, const NameMap& map,
          const std::function<void(const std::string&)>& progress) {
  Diff result;
  result.file_a = a.path();
  result.file_b = b.path();
  const Matching matching = match(a, b, map);
  for (const Pair& pair : matching.pairs) {
    progress(a.entries()[pair.a].name);
    result.tensors.push_back(compare_tensors(a, b, pair));
  }
  const auto unmatched = [](const TensorEntry& e) {
    return Diff::Unmatched{e.name, fmt::format("{}[{}]", name(e.dtype), text(e.shape))};
  };
  for (const std::size_t i : matching.only_a) result.only_a.push_back(unmatched(a.entries()[i]));
  for (const std::size_t i : matching.only_b) result.only_b.push_back(unmatched(b.entries()[i]));
  for (const Likely& l : matching.likely)
    result.likely.push_back({a.entries()[l.a].name, b.entries()[l.b].name, l.alike});
  for (const TensorFile* file : {&a, &b})
    for (const UnsupportedEntry& u : file->unsupported()) result.unsupported.push_back(u.reason);
  return result;
}

}  // namespace assay::diff
