#include "gate_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {

SpeedVerdict decide(const Estimate& e, double threshold) {
  using enum SpeedVerdict;
  const double limit = std::log1p(threshold);
  if (e.low > limit) return regressed;
  if (e.high < -limit) return improved;
  return e.low >= -limit && e.high <= limit ? same : ambiguous;
}

bool agree(std::span<const double> medians, SpeedVerdict verdict, double threshold, Estimate& over) {
  constexpr std::size_t kFewest = 5;
  if (medians.size() < kFewest) return false;
  for (const Estimate& e : {median_interval(medians), mean_interval(medians)}) {
    over = e;
    if (decide(e, threshold) == verdict) return true;
  }
  return false;
}

std::optional<SpeedVerdict> settle(std::span<const double> medians, SpeedVerdict found, double threshold,
                                   Estimate& over) {
  using enum SpeedVerdict;
  if (agree(medians, found, threshold, over)) return found;
  if (medians.size() < kConfirmations) return std::nullopt;
  for (const SpeedVerdict other : {found == regressed ? improved : regressed, same})
    if (agree(medians, other, threshold, over)) return other;
  return std::nullopt;
}

GateOutcome outcome_of(std::span<const double> logarithms, double threshold) {
  GateOutcome o;
  const Estimate e = median_interval(logarithms);
  o.verdict = decide(e, threshold);
  o.ratio = {std::exp(e.median), std::exp(e.low), std::exp(e.high)};
  o.detectable = detectable_effect(logarithms, threshold);
  o.threshold = threshold;
  o.rounds = logarithms.size();
  return o;
}

GateOutcome confirm(const GateOutcome& found,
                    const std::function<std::optional<std::vector<double>>(std::size_t)>& again) {
  using enum SpeedVerdict;
  if (found.verdict != regressed && found.verdict != improved) return found;
  GateOutcome o = found;
  std::vector<double> medians;
  std::string said;
  std::optional<SpeedVerdict> verdict;
  while (!verdict && medians.size() < kConfirmations) {
    const std::optional<std::vector<double>> logarithms = again(medians.size() + 1);
    if (!logarithms) {
      o.verdict = ambiguous;
      return o;
    }
    o.rounds += logarithms->size();
    const double median = median_interval(*logarithms).median;
    said += fmt::format("{}{:+.1f}%", said.empty() ? "" : ", ", 100 * std::expm1(median));
    medians.push_back(median);
    Estimate over;
    verdict = settle(medians, found.verdict, o.threshold, over);
    o.ratio = {std::exp(over.median), std::exp(over.low), std::exp(over.high)};
  }
  o.detectable = std::max(o.detectable, detectable_between(medians, kConfirmations, o.threshold));
  o.verdict = verdict.value_or(ambiguous);
  o.confirmed = o.verdict == regressed || o.verdict == improved;
  if (o.verdict != found.verdict)
    o.note = fmt::format("{} by {:+.1f}% in one process, but {} in others", token(found.verdict),
                         100 * (found.ratio.median - 1), said);
  return o;
}

}  // namespace assay
