// Whether results have nothing to do with the right ones: those of another call or of other inputs, or numbers that nobody computed.
#pragma once

#include "evidence.h"

namespace assay::diagnose {

// Whether no rank correlation with the right results is left, and the results are no nearer to them than results of other elements
// are. So are those of a kernel that reads its input in another order: this is asked where no cause explains them. Not of results that
// are few, all alike, or no numbers.
bool is_unrelated(Evidence& evidence);

}  // namespace assay::diagnose
