// From a case to a call: every tensor filled from the case's data family and seed.
#pragma once

#include "../model/call.h"
#include "families.h"
#include "vocabulary/case.h"

namespace assay {

// A pure function of the case. The element at a row-major index depends on the case's family and seed, the argument's
// position, dtype and shape, and that index, so that a layout changes where numbers lie but not which; where elements
// share memory (stride 0) the last one stands for all. Each value is rounded once, to its tensor's dtype.
// Arguments that the operator does not allow, for their data or without looking at it, are filled too: `error` and `blamed` then say what is wrong, and there are
// no outputs. Throws CaseError that lists the families if the case names none of them.
Call materialise(const Case& c);
// What check_case says of the case. Throws the same CaseErrors as materialise, but fills nothing.
Checked check_without_data(const Case& c);

}  // namespace assay
