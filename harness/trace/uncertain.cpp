#include "uncertain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../diagnose/rounding.h"
#include "another.h"

namespace assay {
namespace {

constexpr std::size_t kMostLookedAt = std::size_t{1} << 14;

}  // namespace

std::vector<double> within_bounds(Expectation& expectation, int output, const Contract& contract,
                                  const std::vector<double>& moved) {
  const Checked::Output& out = expectation.call().outputs[static_cast<std::size_t>(output)];
  if (!is_float(out.dtype)) return {};
  TensorData rounded(out.dtype, out.shape);
  rounded.memory = expectation.rounded(output);
  const auto n = static_cast<std::size_t>(rounded.numel());
  const std::size_t step = std::max<std::size_t>(1, (n + kMostLookedAt - 1) / kMostLookedAt);
  std::vector<std::size_t> looked_at;
  for (std::size_t e = 0; e < n; e += step) looked_at.push_back(e);
  const auto& intervals = expectation.intervals(output, looked_at, contract);
  std::vector<double> within(n, 0.0);
  double most = 0;
  for (const std::size_t e : looked_at) {
    const Interval& i = intervals[e];
    const double x = rounded.get(static_cast<std::int64_t>(e)), by = std::max(i.upper - x, x - i.lower);
    if (!std::isfinite(by) || by <= 0) continue;  // what is infinite or NaN moves nowhere
    within[e] = by;
    most = std::max(most, by);
  }
  for (std::size_t e = 0; e < n; ++e) {
    if (e % step != 0) within[e] = most;
    // The slack is for a judgement, and not once more for each call on the way to it.
    if (!moved.empty()) within[e] += moved[e] / diagnose::kSlackOfMoved;
  }
  return within;
}

std::vector<double> within_nearly(const TensorData& torchs) {
  if (!is_float(torchs.dtype)) return {};
  const double scale = largest_of(torchs);
  std::vector<double> within;
  for (std::int64_t e = 0; e < torchs.numel(); ++e) {
    const double x = torchs.get(e);
    within.push_back(std::isfinite(x) ? nearly_of(x, scale) : 0);
  }
  return within;
}

}  // namespace assay
