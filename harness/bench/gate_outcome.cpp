#include "gate_outcome.h"

#include <cmath>

namespace assay {

std::string_view token(GateOutcome::Verdict verdict) {
  constexpr std::string_view kTokens[] = {"REGRESSED", "IMPROVED", "SAME", "AMBIGUOUS", "UNCHANGED"};
  return kTokens[static_cast<std::size_t>(verdict)];
}

GateOutcome::Verdict decide(const Estimate& e, double threshold) {
  using enum GateOutcome::Verdict;
  const double limit = std::log1p(threshold);
  if (e.low > limit) return regressed;
  if (e.high < -limit) return improved;
  return e.low >= -limit && e.high <= limit ? same : ambiguous;
}

bool agree(std::span<const double> medians, GateOutcome::Verdict verdict, double threshold, Estimate& over) {
  constexpr std::size_t kFewest = 3;
  if (medians.size() < kFewest) return false;
  for (const Estimate& e : {median_interval(medians), mean_interval(medians)}) {
    over = e;
    if (decide(e, threshold) == verdict) return true;
  }
  return false;
}

std::optional<GateOutcome::Verdict> settle(std::span<const double> medians, GateOutcome::Verdict found,
                                           double threshold, Estimate& over) {
  using enum GateOutcome::Verdict;
  if (agree(medians, found, threshold, over)) return found;
  const GateOutcome::Verdict opposite = found == regressed ? improved : regressed;
  if (medians.size() >= kConfirmations && agree(medians, opposite, threshold, over)) return opposite;
  return std::nullopt;
}

}  // namespace assay
