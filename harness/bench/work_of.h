// What a case takes: operations of its formula and bytes that it moves.
#pragma once

#include "vocabulary/case.h"
#include "vocabulary/work.h"

namespace assay {

// Counted by the reference. Where that would take long, of the same case with one and with two rows (the first tensor's first
// dimension, and that of every tensor which shares it), from which follows any number of rows: what each row takes is the
// same.
//
// Throws CaseError if the case is not one.
Work work_of(const Case& c);

}  // namespace assay
