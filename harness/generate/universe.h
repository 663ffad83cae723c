// The values that factors (factors.h) have in calls of an operator, numbered: what covering arrays bring together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "factors.h"

namespace assay {

// Of one alternative of the shape rule.
struct Universe {
  struct Value {
    std::string factor, name;
    std::size_t factor_number = 0;
  };
  std::vector<Value> values;
  std::vector<std::vector<std::size_t>> by_factor;

  // Whether a case is to have both. A call without elements shows what an attribute does to it, and nothing else: sizes of 0 meet
  // attributes alone. Kinds of data meet what else is a number: beta = 0 and NaN, a small epsilon and numbers that cancel. Where tensors
  // lie and how large they are is nothing to them that a case with another kind of data would not show.
  bool should_meet(std::size_t a, std::size_t b) const;

  // The numbers of the values among these, ascending.
  std::vector<std::size_t> numbers(const Factors& factors) const;
};

// One for each alternative of the shape rule, learned from drawn cases, all size classes and the operator's families of data. A pure
// function, computed once. Thread-safe.
const std::vector<Universe>& universes_of(const Operator& op, Dtype dtype);

}  // namespace assay
