// A whole report as JUnit XML: a test case for each row of the runs, for the planted faults of each operator and dtype, and
// for each measurement.
#pragma once

#include <string>

#include "report.h"

namespace assay {

// Faults that survived, false alarms and regressions are failures. What the gate could not decide is skipped, and so is what it
// said of a machine that was not fit to judge. A file that is incomplete, or has nothing in it, is an error of the type "incomplete".
std::string junit(const Report& report);

}  // namespace assay
