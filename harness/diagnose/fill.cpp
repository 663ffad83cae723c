#include "fill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "../diff/rule.h"

namespace assay::diagnose {
namespace {

constexpr std::uint64_t kEnoughZeros = 8;
constexpr double kByCoordinates =
    0.95;  // of the elements that a rule names, those that diverge: others may be right as zeros

using Bytes = std::span<const std::byte>;

Bytes element(const std::vector<std::byte>& packed, std::uint64_t e, std::size_t size) {
  return Bytes(packed).subspan(e * size, size);
}

bool placed_by_coordinates(const Shape& shape, const diff::Mask& diverging) {
  const std::optional<diff::Rule> rule = diff::smallest_rule(shape, diverging, {});
  return rule && rule->precision >= kByCoordinates && rule->recall > 0.999;
}

}  // namespace

std::optional<Fill> fill_of(Evidence& evidence) {
  const Call& call = evidence.call();
  std::optional<std::vector<std::byte>> fill;
  std::uint64_t elements = 0;
  bool zeros = true;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (!evidence.has(output)) continue;
    const diff::Mask& diverging = evidence.mask(output);
    const Dtype dtype = evidence.stored(output);
    const std::vector<std::byte> packed = evidence.as_stored(output, evidence.packed(output));
    const auto size = static_cast<std::size_t>(bytes(dtype));
    for (std::uint64_t e = 0; e < diverging.size(); ++e) {
      if (!diverging[e]) continue;
      const Bytes held = element(packed, e, size);
      if (!fill) fill.emplace(held.begin(), held.end());
      if (!std::ranges::equal(held, *fill)) return std::nullopt;
      ++elements;
    }
    if (diverging.count() == 0) continue;
    const std::byte first = fill->front();
    if (!std::ranges::all_of(*fill, [first](std::byte b) { return b == first; })) return std::nullopt;
    zeros = first == std::byte{0};
    // Of integers, 0 and -1 are numbers as others are.
    const bool integer = !is_float(dtype);
    if (size == 1 || (integer && (zeros || first == std::byte{0xff}))) return std::nullopt;
    if (zeros && !placed_by_coordinates(call.outputs[o].shape, diverging)) return std::nullopt;
  }
  if (elements < 2) return std::nullopt;
  if (zeros)
    return Fill{
        "leaves elements of the result unwritten, or stores zeros there: those that diverge are all 0",
        elements >= kEnoughZeros};
  std::vector<int> numbers;
  for (const std::byte b : *fill) numbers.push_back(std::to_integer<int>(b));
  return Fill{
      fmt::format("leaves elements of the result unwritten: those that diverge all hold the bytes {:02x}",
                  fmt::join(numbers, " ")),
      true};
}

}  // namespace assay::diagnose
