#include "nearer.h"

#include <algorithm>
#include <cmath>

#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostMeasured = 2048, kLeastMeasured = 16;
constexpr double kAsNear = 0.5;  // of the best: nearer by chance
constexpr double kMost = 0.9;    // of the elements, that the cause must change

double median_of(std::vector<double>& x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::ranges::nth_element(x, middle);
  return *middle;
}

// How many times as near results are to what the cause gives as to the right ones; 0 where too few can say.
double times_nearer(Evidence& evidence, Prediction& p) {
  std::vector<double> to_cause, to_right;
  std::size_t looked_at = 0;
  for (int o = 0; o < static_cast<int>(evidence.call().outputs.size()); ++o) {
    if (!evidence.has(o) || p.in_integers(o) || ((evidence.call().op->positions | evidence.call().op->truths) >> o & 1) != 0)
      continue;
    const std::vector<double>& right = evidence.expectation().values(o);
    const std::vector<double> said = p.values(o, &right);
    const Format& f = format(evidence.stored(o));
    const std::size_t step = std::max<std::size_t>(1, right.size() / kMostMeasured) | 1;
    for (std::size_t e = 0; e < right.size(); e += step) {
      const double came = evidence.actual(o, static_cast<std::int64_t>(e));
      if (!std::isfinite(came) || !std::isfinite(right[e]) || !std::isfinite(said[e])) continue;
      ++looked_at;
      if (round_to(said[e], f) == round_to(right[e], f)) continue;
      // Below a rounding nobody is nearer.
      const double rounding = f.unit * std::fabs(said[e]);
      to_cause.push_back(std::max(std::fabs(came - said[e]), rounding));
      to_right.push_back(std::fabs(came - right[e]));
    }
  }
  if (to_cause.size() < kLeastMeasured ||
      static_cast<double>(to_cause.size()) < kMost * static_cast<double>(looked_at))
    return 0;
  const double own = median_of(to_cause);
  return own > 0 ? median_of(to_right) / own : 0;
}

}  // namespace

std::optional<Nearer> nearest(Evidence& evidence, const std::vector<Variant>& suspects,
                              const std::vector<Variant>& further) {
  const Dtype dtype = evidence.call().outputs[0].computed_in;
  std::vector<Nearer> all;
  for (const std::vector<Variant>* some : {&suspects, &further})
    for (const Variant& v : *some) {
      stop_now();
      // Of arithmetic only a bound is known, and no result.
      if (!v.contract.empty() || !v.dtypes.contains(dtype)) continue;
      std::optional<Prediction> p =
          Prediction::of({{&v}}, evidence.call(), evidence.contract(), &evidence.rounding(),
                         &evidence.expectation().evaluation());
      if (!p) continue;
      const double times = times_nearer(evidence, *p);
      if (times >= kFarNearer) all.push_back({v.name, v.says, times, {}});
    }
  if (all.empty()) return std::nullopt;
  Nearer best = *std::ranges::max_element(all, {}, &Nearer::times);
  for (const Nearer& n : all)
    if (n.name != best.name && n.times >= kAsNear * best.times) best.as_near.push_back(n.name);
  return best;
}

}  // namespace assay::diagnose
