// Cases that a Guide draws, run and judged.
#pragma once

#include <cstdint>
#include <functional>

#include "../examine/examine.h"
#include "guide.h"

namespace assay {

struct GuidedCases {
  const Kernel* kernel;
  std::uint64_t most;   // cases
  std::uint64_t index;  // number of the first one, for the order of failures
  std::uint64_t row;    // ExamineOptions::row
};

// Whether the results of the call were judged: it was neither refused, nor ended without them.
bool was_judged(const Finding& finding);

// Hands each case with what the kernel did to `ran`, with its number, until there are `most`, the guide has no more, three of them were at fault, or `over`.
void run_guided(Examiner& examiner, Guide& guide, const GuidedCases& what, const std::function<bool()>& over,
                const std::function<void(const Finding&, const Case&, std::uint64_t index)>& ran);

}  // namespace assay
