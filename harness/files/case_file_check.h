// What must hold of a recorded call, before it is written and after it was read.
#pragma once

#include "case_file.h"

namespace assay {

// Throws std::runtime_error that says what is at odds: data with its shape, names with the format, tensors
// with the case text (if the operator is known to this program).
void check_recorded(const RecordedCall& call);

}  // namespace assay
