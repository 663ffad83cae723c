// The last lines of a run's table: whether it passed, how many rows had which verdict, and what weakens that.
#pragma once

#include <string>

#include "row.h"
#include "style.h"

namespace assay {

// "PASSED: no fault in 12 rows (12 pass).", with the number of cases, the time and the seed; a line before it if the run is not complete, and
// notes after it of what the verdicts rest on. Each line ends with a line feed.
std::string conclusion(const RunResult& run, const Rules& rules, const Style& style);
// "1,234 generated cases not run, over all operators and dtypes, invalid calls included"
std::string not_run_text(const RunResult& run);

}  // namespace assay
