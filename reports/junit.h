// JUnit XML, as GitLab, Jenkins and GitHub actions read it: a test suite for each operator, a test case for
// each row.
#pragma once

#include <string>

#include "row.h"

namespace assay {

// Rows that fail the run are <failure> (<error> when the kernel crashed or hung), rows that are refused or
// not run are <skipped>, and so is a peer that disagrees. A run that is incomplete, or has no row, is an <error> of the type
// "incomplete". Characters that XML 1.0 forbids are left out.
std::string junit(const RunResult& run, const Rules& rules = {});

}  // namespace assay
