// Conditions that a rule is made of, of one kind after the other: for each kind the one that tells the set best from the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rule.h"
#include "sample.h"

namespace assay::diff {

struct Condition {
  std::string text;
  int rank =
      0;  // of two that are equally good the lower one: signs and single coordinates before remainders and thresholds
  std::function<bool(std::uint64_t element)> at;  // of any element of the tensor
  Bits holds;                                     // only elements of the domain
  bool by_number = false;  // on the row-major number, which says nothing of rows and columns
};

// Conditions on coordinates, on the row-major number and on values. Only elements of the domain count, for the choice and in
// what holds.
std::vector<Condition> conditions(const Sample& sample, const Bits& domain, const Shape& shape,
                                  const std::vector<Values>& values);

}  // namespace assay::diff
