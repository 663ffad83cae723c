// What a kernel that has passed a case must stand beside it: rows with room after them, other data at the same addresses, thousands
// of calls in one process.
#pragma once

#include <cstdint>
#include <span>

#include "../judge/expectation.h"
#include "examine.h"
#include "vocabulary/contract.h"

namespace assay {

// A case that a kernel has passed.
struct Passed {
  const Kernel* kernel = nullptr;
  const Contract* contract = nullptr;
  const Call* call = nullptr;
  const Case* made_of = nullptr;  // what the call was made of, where that is known
  std::uint64_t choice = 0;
  Expectation* expectation = nullptr;
  const Outcome* outcome = nullptr;
  Finding* finding = nullptr;
};

// Runs further calls of these and changes the findings of those that show a fault. Which cases it takes follows from the cases
// alone; how many calls, from the kernel's speed, too.
void run_further(Lane& lane, std::span<const Passed> passed, Further which);

}  // namespace assay
