// One number for each element of a result, solved from it, and along which dimension such numbers agree.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vocabulary/shape_rule.h"

namespace assay::diagnose {

// What an element says of the number.
struct Solution {
  std::int64_t at = 0;  // the element, row-major
  double value = 0;
  double within = 0;      // half the width of what it may be
  bool informs = false;   // false: the element does not depend on it, or too little
  bool fits = true;       // of one that does not inform: whether it is as it must be
  bool diverges = false;  // with what was given: the number is to explain it
};

// Numbers that agree: one for all elements, or one for each index of a dimension.
struct Agreement {
  std::optional<int> dimension;
  std::vector<double> values;  // NaN for an index of which no element says anything
  std::vector<double> within;
  double share = 0;  // of the elements that are as these numbers say
};

// The agreement with the fewest numbers that at least 99% of the elements are part of, and 90% of those that diverge, and that has at
// least twice as many elements that inform as numbers.
std::optional<Agreement> agreement(const std::vector<Solution>& solutions, const Shape& shape);
// The same, of these numbers: one for all elements, or one for each index.
std::optional<Agreement> agreement_along(const std::vector<Solution>& solutions, const Shape& shape,
                                         std::optional<int> dimension);

inline constexpr double kLeastAgreeing = 0.99, kLeastOfDiverging = 0.9;

}  // namespace assay::diagnose
