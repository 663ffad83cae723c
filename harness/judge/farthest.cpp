#include "farthest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <span>

namespace assay {
namespace {

constexpr std::size_t kAtOnce = 256;

// Without branches: compilers take several at a time.
void relative_differences(const double* __restrict a, const double* __restrict b, std::size_t n,
                          double* __restrict differences) {
  constexpr double kLeast = std::numeric_limits<double>::min();
  for (std::size_t k = 0; k < n; ++k) {
    const double size = std::fabs(b[k]);
    const double relative = std::fabs(a[k] - b[k]) / (size < kLeast ? kLeast : size);
    const double zero = (a[k] - a[k]) + (b[k] - b[k]);  // NaN where one is not finite
    differences[k] = zero == 0 ? relative : HUGE_VAL;
  }
}

double nth_largest(std::vector<double>& some, std::size_t n) {
  const auto nth = some.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(some.begin(), nth, some.end(), std::greater<>());
  return *nth;
}

// The least of the `most` largest.
double least_of_largest(const std::vector<double>& distances, std::size_t most, std::size_t& larger) {
  // Few of them can be among the largest: those that are like the largest of a sample, if they are enough.
  constexpr std::size_t kSample = 1024;
  std::vector<double> candidates;
  if (const std::size_t step = distances.size() / kSample; step > 1) {
    for (std::size_t k = 0; k < distances.size(); k += step) candidates.push_back(distances[k]);
    const double like = nth_largest(candidates, std::min(most / step * 5 / 4, candidates.size() - 1));
    candidates.clear();
    std::ranges::copy_if(distances, std::back_inserter(candidates), [&](double d) { return d >= like; });
  }
  if (candidates.size() < most) candidates = distances;
  const double least = nth_largest(candidates, most - 1);
  larger = static_cast<std::size_t>(std::ranges::count_if(candidates, [&](double d) { return d > least; }));
  return least;
}

}  // namespace

void keep_farthest(std::vector<std::size_t>& elements, const std::vector<std::byte>& packed,
                   const std::vector<double>& values, Dtype dtype, std::size_t most) {
  const auto size = static_cast<std::size_t>(bytes(dtype));
  std::vector<double> distances(elements.size());
  std::array<double, kAtOnce> results, differences;  // from element `begin` on
  std::size_t begin = 0, end = 0;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const std::size_t e = elements[k];
    if (e >= end) {
      begin = e / kAtOnce * kAtOnce;
      end = std::min(begin + kAtOnce, values.size());
      load_all(packed.data() + begin * size, dtype, std::span(results).first(end - begin));
      relative_differences(results.data(), values.data() + begin, end - begin, differences.data());
    }
    distances[k] = differences[e - begin];
  }
  std::size_t larger = 0;
  const double least = least_of_largest(distances, most, larger);
  std::size_t room = most - larger;  // for those that are equal to it
  std::size_t kept = 0;
  for (std::size_t k = 0; k < distances.size(); ++k) {
    if (distances[k] < least || (distances[k] == least && room == 0)) continue;
    if (distances[k] == least) --room;
    elements[kept++] = elements[k];
  }
  elements.resize(kept);
}

}  // namespace assay
