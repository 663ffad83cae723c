#include "known_number.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace assay::diagnose {
namespace {

struct Constant {
  double value;
  std::string_view text;
};
constexpr Constant kConstants[] = {{1.4426950408889634074, "1 / ln(2), as of a logarithm to base 2"},
                                   {0.43429448190325182765, "1 / ln(10), as of a logarithm to base 10"},
                                   {0.69314718055994530942, "ln(2)"},
                                   {2.3025850929940456840, "ln(10)"},
                                   {57.295779513082320877, "180 / pi, as of degrees"},
                                   {0.017453292519943295769, "pi / 180, as of degrees"},
                                   {1.4142135623730950488, "sqrt(2)"},
                                   {0.70710678118654752440, "1 / sqrt(2)"}};

}  // namespace

std::string known_number(double factor, double within) {
  for (const Constant& c : kConstants)
    if (std::fabs(factor - c.value) <= within + 0x1p-22 * c.value && within < 1e-3 * c.value)
      return fmt::format(" ({})", c.text);
  return {};
}

}  // namespace assay::diagnose
