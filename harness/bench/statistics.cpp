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

double mean_of(std::span<const double> samples) {
  double mean = 0;
  for (const double x : samples) mean += x / static_cast<double>(samples.size());
  return mean;
}

// Precondition: two samples or more.
double deviation(std::span<const double> samples) {
  const double mean = mean_of(samples);
  double squares = 0;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / (static_cast<double>(samples.size()) - 1));
}

double student(std::size_t samples, double probability) {
  return boost::math::quantile(boost::math::students_t_distribution<>(static_cast<double>(samples) - 1),
                               probability);
}

constexpr double kBothSides = (1 + kConfidence) / 2;
constexpr double kFound = 0.8;

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
  const double mean = mean_of(samples);
  if (samples.size() < 2) {
    constexpr double kEverything = std::numeric_limits<double>::infinity();
    return {mean, -kEverything, kEverything};
  }
  const double half = student(samples.size(), kBothSides) * deviation(samples) /
                      std::sqrt(static_cast<double>(samples.size()));
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
  constexpr double kNormalBothSides = 2.576, kNormalFound = 0.842;
  const Estimate e = median_interval(log_ratios);
  const double standard_error =
      std::max(1.2533 * spread(log_ratios) / std::sqrt(static_cast<double>(log_ratios.size())),
               std::max(e.high - e.median, e.median - e.low) / kNormalBothSides);
  return std::expm1(std::log1p(threshold) + (kNormalBothSides + kNormalFound) * standard_error);
}

double detectable_between(std::span<const double> medians, std::size_t processes, double threshold) {
  if (medians.size() < 2 || processes < 2) return std::numeric_limits<double>::infinity();
  return std::expm1(std::log1p(threshold) + (student(processes, kBothSides) + student(processes, kFound)) *
                                                deviation(medians) /
                                                std::sqrt(static_cast<double>(processes)));
}

}  // namespace assay
