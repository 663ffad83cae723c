#include "statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace assay {
namespace {

double middle(std::span<const double> sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// How many samples may lie outside on either side: the interval goes from the (k+1)th smallest to the (k+1)th largest, or is
// unbounded if k is -1.
int outside(std::size_t n, double confidence) {
  const boost::math::binomial_distribution<> signs(static_cast<double>(n), 0.5);
  int k = -1;
  while (2 * (k + 2) <= static_cast<int>(n) && boost::math::cdf(signs, k + 1) <= (1 - confidence) / 2) ++k;
  return k;
}

}  // namespace

Estimate median_interval(std::span<const double> samples, double confidence) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  constexpr double kEverything = std::numeric_limits<double>::infinity();
  if (samples.empty()) return {kNothing, kNothing, kNothing};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const int k = outside(sorted.size(), confidence);
  if (k < 0) return {middle(sorted), -kEverything, kEverything};
  const auto at = static_cast<std::size_t>(k);
  return {middle(sorted), sorted[at], sorted[sorted.size() - 1 - at]};
}

std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b) {
  std::vector<double> x(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::log(b[i] / a[i]);
  return x;
}

Estimate ratio_interval(std::span<const double> a, std::span<const double> b, double confidence) {
  const Estimate e = median_interval(log_ratios(a, b), confidence);
  return {std::exp(e.median), std::exp(e.low), std::exp(e.high)};
}

Estimate mean_interval(std::span<const double> samples) {
  const auto n = static_cast<double>(samples.size());
  double mean = 0, squares = 0;
  for (const double x : samples) mean += x / n;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  if (samples.size() < 2) {
    constexpr double kEverything = std::numeric_limits<double>::infinity();
    return {mean, -kEverything, kEverything};
  }
  const boost::math::students_t_distribution<> t(n - 1);
  const double half = boost::math::quantile(t, kConfidence) * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

double spread(std::span<const double> samples) {
  if (samples.empty()) return 0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const double median = middle(sorted);
  for (double& x : sorted) x = std::fabs(x - median);
  std::ranges::sort(sorted);
  return 1.4826 * middle(sorted);
}

double detectable_effect(std::span<const double> log_ratios, double threshold) {
  if (log_ratios.empty()) return std::numeric_limits<double>::infinity();
  // The normal quantiles of 99% on both sides and of 80%; 1.2533 is what a median is less certain than a mean. Noise with two
  // peaks is not what its spread says: the interval is.
  constexpr double kBothSides = 2.576, kFound = 0.842;
  const Estimate e = median_interval(log_ratios);
  const double standard_error =
      std::max(1.2533 * spread(log_ratios) / std::sqrt(static_cast<double>(log_ratios.size())),
               std::max(e.high - e.median, e.median - e.low) / kBothSides);
  return std::expm1(std::log1p(threshold) + (kBothSides + kFound) * standard_error);
}

}  // namespace assay
