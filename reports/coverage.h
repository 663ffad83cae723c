// What an older run looked at and a newer one does not.
#pragma once

#include <string>
#include <vector>

#include "result.h"

namespace assay {

struct CoverageLoss {
  enum class Kind { gone, not_run, refused, fewer_cases };
  Kind kind = Kind::gone;
  std::string op, impl, dtype;
  std::uint64_t before = 0, now = 0;  // cases
  std::string reason;                 // why it is not run, or refused
};

// What people read of it: "gone", "refused now".
std::string words(CoverageLoss::Kind kind);

// Rows of `base` that are not in `run`, that became refused or not run, or that have fewer cases; in the order of `base`.
std::vector<CoverageLoss> coverage_lost(const RunResult& base, const RunResult& run);

// Why a row is not run or refused: its reason, or the first refusal's.
std::string reason_of(const Row& row);

}  // namespace assay
