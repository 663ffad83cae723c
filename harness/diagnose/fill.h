// Results that nobody wrote: all of them hold the same bytes, as memory does that was only ever filled.
#pragma once

#include <optional>
#include <string>

#include "evidence.h"

namespace assay::diagnose {

struct Fill {
  std::string
      says;  // "leaves elements of the result unwritten: those that diverge all hold the bytes cd cd cd cd"
  bool certain = false;  // so many elements, or such bytes, that no other fault is likely to have given them
};

// Whether all elements that diverge are such. Zeros, as the system's memory is filled with, only where coordinates alone say
// which elements diverge: a wrong formula may give zeros, but by the numbers that go in.
std::optional<Fill> fill_of(Evidence& evidence);

}  // namespace assay::diagnose
