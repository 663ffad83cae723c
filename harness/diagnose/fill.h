// Results that nobody wrote: all of them hold the same bytes, as memory does that was only ever filled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence.h"

namespace assay::diagnose {

// What would have given the same zeros.
struct ReadAsZeros {
  std::string name;  // "self.zeros_in_dimension_0"
  std::string says;  // "reads zeros for self at indices 3 to 8 of its dimension 0"
};

struct Fill {
  std::string
      says;  // "leaves elements of the result unwritten: those that diverge all hold the bytes cd cd cd cd"
  bool certain = false;  // so many elements, or such bytes, that no other fault is likely to have given them
  std::vector<ReadAsZeros> or_read_as_zeros = {};
  std::string name = "results.unwritten";
};

// Whether all elements that diverge are such. Zeros, as the system's memory is filled with, only where coordinates alone say
// which elements diverge: a wrong formula may give zeros, but by the numbers that go in, and so may one that is wrong where an
// input has zeros. If those are whole rows of zeros, with nothing else in the result's rows, and all others are right, it is a
// kernel that skips them: "results.unwritten_where_zero".
std::optional<Fill> fill_of(Evidence& evidence);

// Whether every element of a result, of which there are several, is the same number, where right ones are many: it does not depend
// on what goes in.
std::optional<Fill> constant_of(Evidence& evidence);

// Whether a result ends in elements that are all alike, zeros say, which are all that diverge: where it stops. A right result may
// have such elements there, so that the first of them may be one that was written.
std::optional<Fill> end_of(Evidence& evidence);

}  // namespace assay::diagnose
