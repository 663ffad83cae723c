// What becomes of a row's failures.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "../examine/examine.h"
#include "../examine/sequence.h"
#include "stretch.h"
#include "verify.h"

namespace assay {

struct Recording {
  const VerifyOptions& options;
  const Stretch& stretch;
  const std::atomic<bool>& interrupted;
  const KernelOf& kernel_of;
};

// Looks for causes, also of `further` failures, makes the first failure of each kind small, and writes a case file for each failure of
// the row. What takes longer than `until` is left.
void record_row(Examiner& examiner, const Kernel& kernel, Row& row, const std::vector<Failure>& further,
                std::chrono::steady_clock::time_point until, const Recording& recording);

}  // namespace assay
