#include "named.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace assay::diagnose {
namespace {

constexpr std::string_view kApproximate = "arithmetic.approximate";

}  // namespace

Named named(const Cause& c) {
  const bool beside_arithmetic =
      c.hypothesis.faults.size() > 1 &&
      std::ranges::any_of(c.hypothesis.faults, [](const Variant* v) { return !v->contract.empty(); });
  return {.name = c.hypothesis.name(),
          .says = c.hypothesis.says(),
          .explained = c.explained,
          .broken = c.broken,
          .discriminating = c.discriminating,
          .matched = c.matched,
          .explains_all = c.explains_all,
          .whole = c.whole,
          .beside_arithmetic = beside_arithmetic,
          .definition = c.hypothesis.faults.size() == 1 ? std::string(c.hypothesis.faults[0]->definition)
                                                        : std::string(),
          .proven = c.discriminating > 0 && c.is_confirmed() && !beside_arithmetic};
}

Named read_off(std::string name, std::string says, std::size_t diverging) {
  return {.name = std::move(name),
          .says = std::move(says),
          .explained = diverging,
          .discriminating = diverging,
          .matched = diverging,
          .explains_all = true,
          .proven = true};
}

Named approximation(int bits, std::size_t diverging) {
  return {
      .name = std::string(kApproximate),
      .says = fmt::format(
          "approximates: results have about {} correct bits, and errors that are no rounding to a format of "
          "so many; fast reciprocals, roots and exponentials give such",
          bits),
      .explained = diverging,
      .explains_all = true};
}

bool is_of_functions(const Named& c) {
  return c.name.starts_with("arithmetic.functions") || c.name == kApproximate;
}

Named inaccurate(const Admitting& a, std::size_t diverging) {
  return {.name = fmt::format("arithmetic.inaccurate_{}", a.what),
          .says = fmt::format("has a {} that is less accurate than the contract says", a.what),
          .explained = diverging,
          .explains_all = true};
}

}  // namespace assay::diagnose
