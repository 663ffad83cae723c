#include "change_points.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace assay {
namespace {

constexpr std::size_t kLeastLevel = 3;
constexpr double kSignificance = 0.002;

// Of numbers that come one by one (Welford): sums of squares would cancel where the numbers are large and alike.
struct Moments {
  double n = 0;
  double mean = 0;
  double squares = 0;  // of the distances from the mean

  void add(double v) {
    const double before = v - mean;
    mean += before / ++n;
    squares += before * (v - mean);
  }
  double variance() const { return squares / (n - 1) / n; }  // of the mean
};

double mean(std::span<const double> x) {
  Moments m;
  for (const double v : x) m.add(v);
  return m.mean;
}

double p_value(const Moments& a, const Moments& b) {
  const double variance = a.variance() + b.variance();
  if (!std::isfinite(variance)) return 1;
  if (variance == 0) return a.mean == b.mean ? 1 : 0;
  const double t = (b.mean - a.mean) / std::sqrt(variance);
  const double of_a = a.variance() / variance, of_b = b.variance() / variance;
  const double freedom = 1 / (of_a * of_a / (a.n - 1) + of_b * of_b / (b.n - 1));
  const boost::math::students_t_distribution<> distribution(std::max(freedom, 1.0));
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::fabs(t)));
}

struct Split {
  std::size_t at = 0;
  double p = 2;
  double difference = 0;  // of the means
};

Split best_split(std::span<const double> series) {
  std::vector<Moments> behind(series.size() + 1);  // of all from there on
  for (std::size_t k = series.size(); k-- > 0;) {
    behind[k] = behind[k + 1];
    behind[k].add(series[k]);
  }
  Moments before;
  Split best;
  for (std::size_t k = 1; k + kLeastLevel <= series.size(); ++k) {
    before.add(series[k - 1]);
    if (k < kLeastLevel) continue;
    const double p = p_value(before, behind[k]), difference = std::fabs(behind[k].mean - before.mean);
    if (p < best.p || (p == best.p && difference > best.difference)) best = {k, p, difference};
  }
  return best;
}

void search(std::span<const double> series, std::size_t offset, double least,
            std::vector<std::size_t>& found) {
  if (series.size() < 2 * kLeastLevel) return;
  const std::size_t splits = series.size() - 2 * kLeastLevel + 1;
  const Split best = best_split(series);
  if (best.p * static_cast<double>(splits) > kSignificance || best.difference < least) return;
  search(series.first(best.at), offset, least, found);
  found.push_back(offset + best.at);
  search(series.subspan(best.at), offset + best.at, least, found);
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> all, double least) {
  std::vector<double> numbers;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!std::isfinite(all[i])) continue;
    numbers.push_back(all[i]);
    places.push_back(i);
  }
  const std::span<const double> series(numbers);
  std::vector<std::size_t> at;
  search(series, 0, least, at);
  std::vector<ChangePoint> changes;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : at[i - 1], end = i + 1 == at.size() ? series.size() : at[i + 1];
    changes.push_back({places[at[i]], mean(series.subspan(begin, at[i] - begin)),
                       mean(series.subspan(at[i], end - at[i]))});
  }
  return changes;
}

}  // namespace assay
