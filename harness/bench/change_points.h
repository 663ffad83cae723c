// Where a series of numbers goes over to another level.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

struct ChangePoint {
  std::size_t index = 0;  // the first point of the new level
  double before = 0;      // means of the levels
  double after = 0;
};

// Levels of the series, found by halving: the split at which Welch's t-test sees the largest difference is a change if it is
// significant (p <= 0.002 after Bonferroni's correction for all the splits that were tried), if the levels differ by at least
// `least`, and if both have three points or more, so that a single odd run is none; then both sides are searched. As Hunter
// (Fleming et al. 2023) does with E-divisive, with the t-test for the same reason: the same series, the same answer. Points that
// are no finite numbers are left out.
std::vector<ChangePoint> change_points(std::span<const double> all, double least = 0.02);

}  // namespace assay
