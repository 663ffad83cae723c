// Whether a cause is true of every element, and not only of those that it was found with.
//
// A cause is found on some hundred elements. "Zero after the last full vector of 64" explains them even where only the last 20 of 40
// elements are zero, because the others are too few to be among them. So what the cause makes of the whole result is computed: where
// that is what came, to the bit, it is as the cause says; where the cause changes nothing, and the element does not diverge, too.
// Of the others intervals are read: of all of them if they are not too many, or else of those that are farthest from what the cause
// says, and of some that are spread.
#pragma once

#include <cstdint>
#include <span>

#include "tried.h"

namespace assay::diagnose {

struct Whole {
  std::uint64_t elements = 0;  // of the results that are there
  std::uint64_t read = 0;      // intervals
  std::uint64_t unread =
      0;  // neither as the cause says to the bit, nor read: nearer to it than those that were
  std::uint64_t unexplained = 0;  // diverge, and are not as it says
  std::uint64_t broken = 0;       // do not diverge, and are not as it says
  bool holds() const { return unexplained == 0 && broken == 0; }
};

// A StopScope may end it.
Whole on_the_whole(std::span<Evidence* const> calls, Predictions& cause);

}  // namespace assay::diagnose
