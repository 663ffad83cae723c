#include "dumped.h"

#include <fmt/format.h>

#include <utility>

#include "../diagnose/rounding.h"
#include "another_shape.h"
#include "inputs.h"

namespace assay {

std::optional<Dumped> result_of(Dump& dump, std::size_t k, const std::string& output,
                                const Checked::Output& expected, BisectedCall& result) {
  const auto found = dump.result(k, output);
  if (!found) return std::nullopt;
  TensorData t = dump.read(found->name);
  const bool same_numbers = is_another_view(t.shape, expected.shape) ||
                            (dump.is_of_engine() && is_joined_or_divided(t.shape, expected.shape));
  if (!found->by_shape && same_numbers) t = reshaped(t, expected.shape);
  // An engine moves transpositions to where they cost it less.
  if (t.shape != expected.shape && dump.is_of_engine() && !found->by_shape)
    if (auto moved = rearranged_to(expected.shape, t)) t = packed_copy(*moved);
  if (t.shape != expected.shape) {
    if (result.dumped_as.empty()) result.dumped_as = found->name;
    return Dumped{std::move(t), {}};
  }
  std::int64_t misfit = 0;
  auto same = exactly_as(t, expected.dtype, &misfit);
  if (!same) {
    result.says.push_back(
        fmt::format("{} of the dump is {}, and its element {} is {}, which {} does not have: not compared",
                    found->name, name(t.dtype), misfit, t.get(misfit), name(expected.dtype)));
    return std::nullopt;
  }
  if (result.dumped_as.empty())
    result.dumped_as =
        found->by_shape ? found->name + ", the only one of its shape, and much like it" : found->name;
  Dumped dumped{std::move(*same), {}};
  if (diagnose::is_narrower(t.dtype, expected.dtype)) {
    dumped.narrower = t.dtype;
    result.stored_as = name(t.dtype);
    result.computed_in = name(expected.dtype);
  } else if (const auto rounded = dump.rounded_to(t); rounded && diagnose::is_narrower(*rounded, expected.dtype)) {
    dumped.narrower = rounded;
    result.stored_as = name(*rounded);
    result.computed_in = name(expected.dtype);
  }
  return dumped;
}

}  // namespace assay
