#include "shown.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace assay {

std::string shown(double x, Dtype dtype) {
  if (std::isnan(x)) return "NaN";  // its sign says nothing
  if (dtype == Dtype::f64) return fmt::format("{:.17g}", x);
  return fmt::format("{:.9g}", x);
}

std::string shown(const Interval& i, Dtype dtype) {
  std::string s;
  if (i.lower <= i.upper)
    s = i.lower == i.upper ? shown(i.lower, dtype)
                           : fmt::format("[{}, {}]", shown(i.lower, dtype), shown(i.upper, dtype));
  const auto also = [&](bool is, std::string_view what) {
    if (is) s += fmt::format("{}{}", s.empty() ? "" : " or ", what);
  };
  also(i.nan, "NaN");
  also(i.positive_infinity, "inf");
  also(i.negative_infinity, "-inf");
  return s;
}

}  // namespace assay
