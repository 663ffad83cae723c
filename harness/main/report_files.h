// A report from files, for the commands that write one.
#pragma once

#include <string>
#include <vector>

#include "reports/report.h"

namespace assay {

// Reads each file as what it says it is. Throws FileError that names the file.
void read_into(Report& report, const std::string& path);

// Draws where recorded results diverge, from the case files that failures name, as far as they are there: under their path, or
// beside the run file `beside`, where they lie when both were moved.
void add_pictures(ReportedRun& run, const std::string& beside);

}  // namespace assay
