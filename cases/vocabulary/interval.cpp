#include <algorithm>
#include <cmath>
#include <limits>

#include "reference.h"

namespace assay {

bool Interval::undecidable() const { return lower == -HUGE_VAL && upper == HUGE_VAL; }

bool Interval::contains(double result) const {
  if (std::isnan(result)) return nan;
  if (std::isinf(result)) return result > 0 ? positive_infinity : negative_infinity;
  if (!(lower <= result && result <= upper)) return false;
  if (!places.empty() && std::ranges::find(places, result) == places.end()) return false;
  return !exact_zero_sign || std::signbit(result) == std::signbit(value);
}

double Interval::relative_width() const {
  if (lower >= upper) return 0;
  return value == 0 ? HUGE_VAL : (upper - lower) / std::fabs(value);
}

double Interval::error_over_bound(double result) const {
  const bool inside = contains(result);
  if (!std::isfinite(result) || !std::isfinite(value)) return inside ? 0 : HUGE_VAL;
  if (result == value) return inside ? 0 : HUGE_VAL;  // the other zero
  const double admissible = result < value ? value - lower : upper - value;
  const double ratio = admissible > 0 ? std::fabs(result - value) / admissible : HUGE_VAL;
  if (inside) return std::fmin(ratio, 1);
  return std::isfinite(ratio) ? std::fmax(ratio, std::nextafter(1.0, 2.0)) : HUGE_VAL;
}

Interval Evaluation::interval(int output, std::int64_t element, const Contract& contract) {
  Interval found;
  intervals(output, {&element, 1}, contract, [&](std::int64_t, Interval&& i) { found = std::move(i); });
  return found;
}

}  // namespace assay
