#include "solve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::diagnose {
namespace {

std::size_t index_along(std::int64_t at, const Shape& shape, int dimension) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::int64_t index = at % shape[d];
    if (static_cast<int>(d) == dimension) return static_cast<std::size_t>(index);
    at /= shape[d];
  }
  return 0;
}

// The median of the quarter that is known best, so that a few elements with another fault do not count.
void settle(std::vector<const Solution*>& group, double& value, double& within) {
  value = within = std::numeric_limits<double>::quiet_NaN();
  if (group.empty()) return;
  std::ranges::sort(group, {}, [](const Solution* s) { return s->within; });
  std::vector<const Solution*> best(group.begin(),
                                    group.begin() + static_cast<std::ptrdiff_t>((group.size() + 3) / 4));
  std::ranges::sort(best, {}, [](const Solution* s) { return s->value; });
  value = best[best.size() / 2]->value;
  within = best[best.size() / 2]->within;
}

bool is_near(const Solution& s, double value, double within) {
  return std::fabs(s.value - value) <= 2 * (s.within + within);
}

// Of those near the value, each by how well it is known: some say far more of the number than the others.
double weighted_mean(const std::vector<const Solution*>& group, double value, double within) {
  double sum = 0, weights = 0;
  for (const Solution* s : group) {
    if (!is_near(*s, value, within) || !(s->within > 0)) continue;
    const double weight = 1 / (s->within * s->within);
    sum += weight * (s->value - value);
    weights += weight;
  }
  return std::isfinite(weights) && weights > 0 ? value + sum / weights : value;
}

// Whether the element comes out with this number: that nothing better is known of the number is no reason.
bool explains(const Solution& s, double value) {
  constexpr double kRounding = 0x1p-20;
  return std::fabs(s.value - value) <= 2 * s.within + kRounding * std::fabs(value);
}

}  // namespace

std::optional<Agreement> agreement_along(const std::vector<Solution>& solutions, const Shape& shape,
                                         std::optional<int> dimension) {
  const std::size_t groups =
      dimension ? static_cast<std::size_t>(shape[static_cast<std::size_t>(*dimension)]) : 1;
  std::vector<std::vector<const Solution*>> by_index(groups);
  std::size_t inform = 0;
  for (const Solution& s : solutions) {
    if (!s.informs) continue;
    ++inform;
    by_index[dimension ? index_along(s.at, shape, *dimension) : 0].push_back(&s);
  }
  if (inform < 2 * groups) return std::nullopt;
  Agreement a{
      .dimension = dimension, .values = std::vector<double>(groups), .within = std::vector<double>(groups)};
  std::size_t agreeing = 0, diverging = 0, diverging_agreeing = 0;
  const auto count = [&](const Solution& s, bool agrees) {
    agreeing += agrees ? 1 : 0;
    diverging += s.diverges ? 1 : 0;
    diverging_agreeing += s.diverges && agrees ? 1 : 0;
  };
  for (std::size_t g = 0; g < groups; ++g) {
    settle(by_index[g], a.values[g], a.within[g]);
    const double precise = weighted_mean(by_index[g], a.values[g], a.within[g]);
    for (const Solution* s : by_index[g])
      count(*s, s->diverges ? explains(*s, precise) : is_near(*s, a.values[g], a.within[g]));
  }
  for (const Solution& s : solutions)
    if (!s.informs) count(s, s.fits);
  a.share = static_cast<double>(agreeing) / static_cast<double>(solutions.size());
  // Where few elements diverge, numbers that say nothing of them are in agreement with all others.
  if (a.share < kLeastAgreeing ||
      static_cast<double>(diverging_agreeing) < kLeastOfDiverging * static_cast<double>(diverging))
    return std::nullopt;
  return a;
}

std::optional<Agreement> agreement(const std::vector<Solution>& solutions, const Shape& shape) {
  std::optional<Agreement> best = agreement_along(solutions, shape, std::nullopt);
  if (best) return best;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (shape[static_cast<std::size_t>(d)] < 2) continue;
    auto a = agreement_along(solutions, shape, d);
    if (a && (!best || a->values.size() < best->values.size() ||
              (a->values.size() == best->values.size() && a->share > best->share)))
      best = std::move(a);
  }
  return best;
}

}  // namespace assay::diagnose
