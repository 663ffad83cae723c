// Why a kernel's results diverge, for each of its failures.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "../examine/examine.h"
#include "reports/result.h"

namespace assay {

// Runs the cases of those failures that diverged again, before they are made small: more elements say more, and one cause must
// explain all of them. Fills Failure::diagnosis; with nothing, where none shows again. Of those that are `further`, the ones that have
// another cause, which is certain, are added to the failures, and so is it said where the first ones have several.
// After an interrupt, and at `until`, it ends with what it knows, which the diagnosis says.
void diagnose_failures(Examiner& examiner, const Kernel& kernel, std::vector<Failure>& failures,
                       const std::vector<Failure>& further, const std::atomic<bool>& interrupted,
                       std::chrono::steady_clock::time_point until);

}  // namespace assay
