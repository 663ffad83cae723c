// Elements of two tensors, of which one may be the other with its elements elsewhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "compare.h"
#include "vocabulary/stop.h"

namespace assay::diff {

inline constexpr std::int64_t kProbes = 1021;  // prime, so that strides are not met
inline constexpr double kAlike = 0.999;

// The element of a that an element of b would be; -1: none.
using Place = std::function<std::int64_t(std::int64_t)>;

class Pairs {
 public:
  Pairs(const Elements& a, const Elements& b)
      : a_(a), b_(b), unit_(a.dtype == b.dtype ? a.dtype : coarser(a.dtype, b.dtype)) {}

  std::int64_t count() const { return static_cast<std::int64_t>(b_.count()); }

  // The share of elements of b, each step-th, that are alike.
  double share(const Place& place, std::int64_t step) const {
    std::int64_t tried = 0, alike = 0;
    for (std::int64_t i = 0; i < count(); i += step) {
      stop_point_at(i);
      const std::int64_t from = place(i);
      if (from < 0) continue;
      ++tried;
      alike += is_alike(a_[static_cast<std::uint64_t>(from)], b_[static_cast<std::uint64_t>(i)]) ? 1 : 0;
    }
    return tried == 0 ? 0 : static_cast<double>(alike) / static_cast<double>(tried);
  }
  bool are_alike(std::int64_t of_a, std::int64_t of_b) const {
    return is_alike(a_[static_cast<std::uint64_t>(of_a)], b_[static_cast<std::uint64_t>(of_b)]);
  }
  bool holds(const Place& place) const {
    const std::int64_t step = std::max<std::int64_t>(1, count() / kProbes);
    return share(place, step) >= kAlike && (step == 1 || share(place, 1) >= kAlike);
  }

 private:
  static Dtype coarser(Dtype x, Dtype y) {
    if (!is_float(x) || !is_float(y)) return is_float(x) ? x : y;
    return format(x).precision <= format(y).precision ? x : y;
  }
  bool is_alike(double x, double y) const {
    if (x == y || (std::isnan(x) && std::isnan(y))) return true;
    if (!std::isfinite(x) || !std::isfinite(y) || !is_float(unit_)) return false;
    return ulp_distance(x, y, format(unit_)) <= kSmall;
  }

  Elements a_, b_;
  Dtype unit_;
};

// Then any place would do for most of its elements.
inline bool is_nearly_constant(const Elements& e) {
  std::vector<double> probes;
  const std::uint64_t step = std::max<std::uint64_t>(1, e.count() / 257);
  for (std::uint64_t i = 0; i < e.count(); i += step) probes.push_back(e[i]);
  std::ranges::sort(probes);
  const double middle = probes[probes.size() / 2];
  return std::ranges::count(probes, middle) * 10 > static_cast<std::ptrdiff_t>(probes.size()) * 9;
}

}  // namespace assay::diff
