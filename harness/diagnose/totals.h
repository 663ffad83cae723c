// How many calls of a file are right, and what became of the others.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "diagnosis.h"

namespace assay::diagnose {

struct Totals {
  std::size_t calls = 0;  // that were looked at
  std::size_t right = 0, undecided = 0;
  std::vector<std::string> at_fault;              // "call 3, act/prelu"
  std::map<std::string, std::size_t> not_judged;  // calls of which nothing can be said, by the reason
};

// Of diagnoses in the order of their calls, and those calls' numbers and names.
Totals totals_of(const std::vector<Diagnosis>& all, const std::vector<std::string>& names);

// "Of 12 calls 9 are right, 1 is at fault (call 3, act/prelu), 2 could not be judged: ..". `left`: calls that an interrupt left.
std::string to_text(const Totals& totals, std::size_t left);

}  // namespace assay::diagnose
