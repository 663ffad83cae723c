#include "change_points.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace assay {
namespace {

constexpr std::size_t kLeastLevel = 3;
constexpr double kSignificance = 0.002;

struct Moments {
  double mean = 0;
  double variance = 0;  // of the mean
  double n = 0;
};

Moments moments(std::span<const double> x) {
  Moments m;
  m.n = static_cast<double>(x.size());
  for (const double v : x) m.mean += v / m.n;
  for (const double v : x) m.variance += (v - m.mean) * (v - m.mean) / (m.n - 1);
  m.variance /= m.n;
  return m;
}

double p_value(const Moments& a, const Moments& b) {
  const double variance = a.variance + b.variance;
  if (variance == 0) return a.mean == b.mean ? 1 : 0;
  const double t = (b.mean - a.mean) / std::sqrt(variance);
  const double freedom =
      variance * variance / (a.variance * a.variance / (a.n - 1) + b.variance * b.variance / (b.n - 1));
  const boost::math::students_t_distribution<> distribution(std::max(freedom, 1.0));
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::fabs(t)));
}

void search(std::span<const double> series, std::size_t offset, double least,
            std::vector<std::size_t>& found) {
  if (series.size() < 2 * kLeastLevel) return;
  const std::size_t splits = series.size() - 2 * kLeastLevel + 1;
  std::size_t best = 0;
  double best_p = 2, best_difference = 0;
  for (std::size_t k = kLeastLevel; k + kLeastLevel <= series.size(); ++k) {
    const Moments a = moments(series.first(k)), b = moments(series.subspan(k));
    const double p = p_value(a, b), difference = std::fabs(b.mean - a.mean);
    if (p < best_p || (p == best_p && difference > best_difference)) {
      best = k;
      best_p = p;
      best_difference = difference;
    }
  }
  if (best_p * static_cast<double>(splits) > kSignificance || best_difference < least) return;
  search(series.first(best), offset, least, found);
  found.push_back(offset + best);
  search(series.subspan(best), offset + best, least, found);
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> series, double least) {
  std::vector<std::size_t> at;
  search(series, 0, least, at);
  std::vector<ChangePoint> changes;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : at[i - 1], end = i + 1 == at.size() ? series.size() : at[i + 1];
    changes.push_back({at[i], moments(series.subspan(begin, at[i] - begin)).mean,
                       moments(series.subspan(at[i], end - at[i])).mean});
  }
  return changes;
}

}  // namespace assay
