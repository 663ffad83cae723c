// Results of a function that is no operator here (function_tables.h): of each element, of two tensors' elements, of the rows of a
// tensor, or of the rows of two.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evidence.h"

namespace assay::diagnose {

struct KnownFunction {
  std::string name;  // "results.of_function"
  std::string says;  // "gives logaddexp, log(exp(x) + exp(y)), of each x of self and y of other"
  std::vector<std::string> as_well;  // others that give the same on this data
};

// The functions whose results these are in all calls: every element lies within some errors of f32 of the function's, and half of those that
// diverge or more are very much farther from what is right. Nothing where there are few different results.
std::optional<KnownFunction> known_function(std::span<Evidence* const> calls);

}  // namespace assay::diagnose
