#include "observed.h"

#include <algorithm>
#include <cmath>

namespace assay::diagnose {
namespace {

double spacing(double x, Dtype dtype) {
  const Format& f = format(dtype);
  return std::max(2 * f.unit * std::fabs(x), f.min_subnormal);
}

}  // namespace

Observations observe(Evidence& evidence, int output) {
  Observations all;
  const Dtype dtype = evidence.stored(output);
  const std::vector<double>& values = evidence.expectation().values(output);
  const std::size_t step = std::max<std::size_t>(1, values.size() / kMostEquations);
  // A stride that shares no factor with a dimension of a power of two, so that all places of a row are met.
  std::vector<std::int64_t> places;
  for (std::size_t e = 0; e < values.size(); e += step | 1) places.push_back(static_cast<std::int64_t>(e));
  evidence.look_up(output, places);
  for (const std::int64_t at : places) {
    const Interval i = evidence.interval(output, at);
    if (i.undecidable()) continue;
    Observed o{at, evidence.actual(output, at), values[static_cast<std::size_t>(at)], 0,
               !i.contains(evidence.actual(output, at))};
    o.within = (i.lower <= i.upper ? i.upper - i.lower : 0) +
               spacing(std::max(std::fabs(o.came), std::fabs(o.right)), dtype);
    all.diverging += o.diverges ? 1 : 0;
    all.elements.push_back(o);
  }
  return all;
}

}  // namespace assay::diagnose
