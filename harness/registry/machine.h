// This machine and this build, for run files, case files and `assay --version`.
#pragma once

#include "reports/result.h"

namespace assay {

// ISA levels are those of Assay's own kernels; libraries those that were linked or can be found.
Machine machine();

}  // namespace assay
