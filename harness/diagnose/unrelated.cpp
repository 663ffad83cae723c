#include "unrelated.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostCompared = 4096, kLeastCompared = 24;
constexpr double kByChance = 3;    // standard deviations of a correlation
constexpr double kNoNearer = 0.8;  // median distance, over that of the same numbers in other orders
constexpr double kMostDiverging = 0.5;
constexpr unsigned kShuffles = 5;

// Ranks from 0; equal numbers have the mean of theirs.
std::vector<double> ranks(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return x[i]; });
  std::vector<double> rank(x.size());
  for (std::size_t begin = 0, end = 0; begin < x.size(); begin = end) {
    while (end < x.size() && x[order[end]] == x[order[begin]]) ++end;
    for (std::size_t k = begin; k < end; ++k)
      rank[order[k]] = (static_cast<double>(begin) + static_cast<double>(end) - 1) / 2;
  }
  return rank;
}

// Of two lists of as many ranks; 0 where one of them is all alike.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double both = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean) * (b[i] - mean);
    of_a += (a[i] - mean) * (a[i] - mean);
    of_b += (b[i] - mean) * (b[i] - mean);
  }
  return of_a == 0 || of_b == 0 ? 0 : both / std::sqrt(of_a * of_b);
}

double median_distance(const std::vector<double>& came, const std::vector<double>& right) {
  std::vector<double> distances;
  for (std::size_t i = 0; i < came.size(); ++i) distances.push_back(std::fabs(came[i] - right[i]));
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return *middle;
}

// Whether there are fewer different numbers than one in so many.
bool is_alike(const std::vector<double>& x, std::size_t in_so_many) {
  std::vector<double> sorted = x;
  std::ranges::sort(sorted);
  return std::unique(sorted.begin(), sorted.end()) - sorted.begin() <
         static_cast<std::ptrdiff_t>(x.size() / in_so_many);
}

bool is_unrelated(Evidence& evidence, int output) {
  const std::vector<double>& values = evidence.expectation().values(output);
  std::vector<double> came, right;
  const std::size_t step = std::max<std::size_t>(1, values.size() / kMostCompared) | 1;
  for (std::size_t e = 0; e < values.size(); e += step) {
    const double x = evidence.actual(output, static_cast<std::int64_t>(e));
    if (!std::isfinite(x) || !std::isfinite(values[e])) continue;
    came.push_back(x);
    right.push_back(values[e]);
  }
  if (came.size() < kLeastCompared || is_alike(came, 2) || is_alike(right, 16)) return false;
  const double by_chance = kByChance / std::sqrt(static_cast<double>(came.size()));
  if (std::fabs(rank_correlation(ranks(came), ranks(right))) > by_chance) return false;
  const double distance = median_distance(came, right);
  std::mt19937 random(1);
  double others = 0;
  for (unsigned k = 0; k < kShuffles; ++k) {
    std::ranges::shuffle(came, random);
    others += median_distance(came, right) / kShuffles;
  }
  return distance > kNoNearer * others;
}

}  // namespace

bool is_unrelated(Evidence& evidence) {
  if (static_cast<double>(evidence.diverging()) < kMostDiverging * static_cast<double>(evidence.judged()))
    return false;
  bool any = false;
  for (int o = 0; o < static_cast<int>(evidence.call().outputs.size()); ++o) {
    const bool numbers = is_float(evidence.call().outputs[static_cast<std::size_t>(o)].dtype) &&
                         (evidence.call().op->positions >> o & 1) == 0;
    if (!evidence.has(o) || !numbers || evidence.expectation().integers(o) != nullptr) continue;
    if (!is_unrelated(evidence, o)) return false;
    any = true;
  }
  return any;
}

}  // namespace assay::diagnose
