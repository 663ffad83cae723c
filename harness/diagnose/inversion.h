// Parameters as a kernel must have used them, found from what it gave: whatever became of them shows, also what no list of
// causes has.
//
// For each number p that an operator is given, or each tensor of parameters, the result is a function y(p) of one number
// where all of them are taken to be equal. Solved for each element of the result, p = p(y) says what the kernel used there;
// the interval of results that are admissible says how exactly. What agrees everywhere is one number; what agrees along all
// dimensions but one is a list of them, which is compared with the one that was given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence.h"

namespace assay::diagnose {

struct Inverted {
  std::string argument;  // "weight"; "the result" of a number that it is multiplied by, or that is added
  std::string
      says;  // "one number for each index of dimension 3, where the reference has dimension 1: those given"
  std::vector<double> values;  // what was used: one number, or one for each index of `dimension`
  std::optional<int> dimension;
  double reproduced = 0;  // the share of the judged elements that come out so
};

// What explains at least 99% of the elements, and the reference does not; best first.
std::vector<Inverted> invert(Evidence& evidence);

}  // namespace assay::diagnose
