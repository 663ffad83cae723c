// What functions of rows are made of: plain statistics of at least two numbers, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace assay::diagnose::rows {

using Row = std::span<const double>;

inline double length(Row v) { return static_cast<double>(v.size()); }
inline double total(Row v) { return std::accumulate(v.begin(), v.end(), 0.0); }
inline double mean(Row v) { return total(v) / length(v); }
inline double least(Row v) { return *std::ranges::min_element(v); }
inline double most(Row v) { return *std::ranges::max_element(v); }

template <class F>
inline double sum_of(Row v, const F& f) {
  double sum = 0;
  for (const double x : v) sum += f(x);
  return sum;
}
inline double squares(Row v) {
  return sum_of(v, [](double x) { return x * x; });
}
inline double absolutes(Row v) {
  return sum_of(v, [](double x) { return std::fabs(x); });
}
// Sum of powers of the distance from the mean.
inline double moment(Row v, int power) {
  return sum_of(v, [m = mean(v), power](double x) { return std::pow(x - m, power); });
}
inline double log_sum_exp(Row v) {
  const double top = most(v);
  return top + std::log(sum_of(v, [top](double x) { return std::exp(x - top); }));
}
inline std::vector<double> sorted(Row v) {
  std::vector<double> s(v.begin(), v.end());
  std::ranges::sort(s);
  return s;
}
inline double lower_median(Row v) { return sorted(v)[(v.size() - 1) / 2]; }
inline double upper_median(Row v) { return sorted(v)[v.size() / 2]; }
inline double median(Row v) { return (lower_median(v) + upper_median(v)) / 2; }
// Between the two nearest, as NumPy's default has it.
inline double quantile(Row v, double q) {
  const std::vector<double> s = sorted(v);
  const double at = q * (length(v) - 1);
  const auto i = static_cast<std::size_t>(at);
  return i + 1 < s.size() ? s[i] + (at - static_cast<double>(i)) * (s[i + 1] - s[i]) : s[i];
}
inline double mean_deviation(Row v) {
  return sum_of(v, [m = mean(v)](double x) { return std::fabs(x - m); }) / length(v);
}
inline double median_deviation(Row v) {
  const double m = median(v);
  std::vector<double> d;
  for (const double x : v) d.push_back(std::fabs(x - m));
  return median(d);
}

}  // namespace assay::diagnose::rows
