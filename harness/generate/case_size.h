// Whether a case is one that this machine, and Assay, can run at all.
#pragma once

#include <span>

#include "vocabulary/case.h"
#include "vocabulary/check.h"

namespace assay {

// A case text may ask for more than the machine has: better said than killed for. Throws CaseError that names the tensor
// and its size; `outputs` are those that check_case gives.
void check_size(const Case& c, std::span<const Checked::Output> outputs);

}  // namespace assay
