#include "tile_fault.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace assay::diagnose {
namespace {

// Elements of a tensor whose index of a dimension is in a range, with what lies `distance` before them.
template <class Do>
void each_of(const Shape& shape, std::size_t dimension, StepRange steps, const Do& work) {
  std::int64_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    (d < dimension ? outer : inner) *= d == dimension ? 1 : shape[d];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = steps.begin; k < steps.end; ++k)
      for (std::int64_t i = 0; i < inner; ++i) work((o * shape[dimension] + k) * inner + i, inner);
}

// In each of so many groups of the dimension. False where nothing changes, or a number would not be one of the tensor's dtype.
bool change_tile(TensorData& t, std::size_t dimension, std::int64_t groups, const TileFault& c) {
  bool other = false, fits = true;
  const std::int64_t of_group = t.shape[dimension] / groups;
  const auto each = [&](StepRange steps, const auto& work) {
    for (std::int64_t g = 0; g < groups; ++g)
      each_of(t.shape, dimension, {steps.begin + g * of_group, steps.end + g * of_group}, work);
  };
  const auto multiply = [&](StepRange steps, double factor) {
    each(steps, [&](std::int64_t i, std::int64_t) {
      const double x = t.get(i), y = factor == 0 ? 0 : x * factor;  // NaN is left out as well
      other = other || x != 0;
      if (!is_float(t.dtype)) {
        const IntegerRange range = integer_range(t.dtype);
        fits = fits && y >= static_cast<double>(range.least) && y <= static_cast<double>(range.greatest);
        if (!fits) return;
      }
      t.set(i, y);
    });
  };
  const auto taken_from = [&](StepRange s) { return StepRange{s.begin - c.distance, s.end - c.distance}; };
  switch (c.tile) {
    case TileFaultKind::two_left_out:
      multiply(c.others, 0);
      [[fallthrough]];
    case TileFaultKind::left_out:
      multiply(c.steps, 0);
      break;
    case TileFaultKind::twice:
      multiply(c.steps, 2);
      break;
    case TileFaultKind::both_stale:
      multiply(c.steps, 0);
      multiply(taken_from(c.steps), 2);
      break;
    case TileFaultKind::first_stale:
    case TileFaultKind::second_stale: {
      const TensorData given = t;
      each(c.steps, [&](std::int64_t i, std::int64_t inner) {
        const double x = given.get(i - c.distance * inner);
        other = other || x != given.get(i);
        t.set(i, x);
      });
    }
  }
  return other && fits;
}

}  // namespace

Variant variant_of(const TileFault& c, const Call& call, int output, const Products& products,
                   const Region& region) {
  const auto name_of = [&](int which) -> std::string_view {
    return call.op->schema.argument_storage[products.argument[which]].name;
  };
  const bool in_groups = products.groups > 1;
  const int which =
      c.tile == TileFaultKind::second_stale || (in_groups && c.tile != TileFaultKind::first_stale) ? 1 : 0;
  const std::int64_t groups = which == 0 ? products.groups : 1;
  const std::size_t dimension = products.dimension[which];
  const std::string_view name = name_of(which);
  const auto named = [](StepRange s) { return fmt::format("{}_to_{}", s.begin, s.end - 1); };
  const auto listed = [](StepRange s) {
    return s.size() == 1 ? fmt::format("index {}", s.begin)
                         : fmt::format("indices {} to {}", s.begin, s.end - 1);
  };
  const std::string of =
      fmt::format("{}dimension {} of {}", groups > 1 ? "each group in " : "", dimension, name);
  const std::string from =
      fmt::format("those {} {}", std::abs(c.distance), c.distance > 0 ? "before" : "further on");
  const auto own = [&](std::string_view what) {
    return fmt::format("{}.{}_of_dimension_{}_{}{}", name, named(c.steps), dimension, what, region.name());
  };
  Variant v;
  switch (c.tile) {
    case TileFaultKind::left_out:
      v.name = own("left_out");
      v.says = fmt::format("leaves {} of {} out, as if zeros stood there", listed(c.steps), of);
      break;
    case TileFaultKind::twice:
      v.name = own("twice");
      v.says = fmt::format("counts {} of {} twice", listed(c.steps), of);
      break;
    case TileFaultKind::two_left_out:
      v.name = fmt::format("{}.{}_and_{}_of_dimension_{}_left_out{}", name, named(c.steps), named(c.others),
                           dimension, region.name());
      v.says = fmt::format("leaves {} and {} of {} out, as if zeros stood there", listed(c.steps),
                           listed(c.others), of);
      break;
    case TileFaultKind::both_stale:
      v.name = own(fmt::format("of_{}_{}", std::abs(c.distance), c.distance > 0 ? "before" : "further_on"));
      v.says = fmt::format("counts, in place of {} of {}, {} once more", listed(c.steps), of, from);
      break;
    default:
      v.name =
          own(fmt::format("alone_of_{}_{}", std::abs(c.distance), c.distance > 0 ? "before" : "further_on"));
      v.says = fmt::format(
          "reads, in place of {} of {}, {}, while those of {} are right: a tile of {} alone is stale",
          listed(c.steps), of, from, name_of(1 - which), name);
      break;
  }
  v.says += region.says();
  v.argument = static_cast<int>(products.argument[which]);
  v.arguments = [argument = products.argument[which], dimension, groups, c,
                 here = std::get<TensorData>(call.arguments[products.argument[which]]).shape,
                 out = region.shape, at = static_cast<std::size_t>(output)](Call& changed) {
    auto* t = std::get_if<TensorData>(&changed.arguments[argument]);
    return t != nullptr && t->shape == here && changed.outputs[at].shape == out &&
           change_tile(*t, dimension, groups, c);
  };
  if (!region.everywhere)
    v.within = [region, wanted = output](int given, std::int64_t at) {
      return given == wanted && region.has(at);
    };
  return v;
}

}  // namespace assay::diagnose
