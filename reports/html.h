// A report as one file of HTML that needs no network: charts are inline SVG, a short script sorts and filters the tables.
//
// The page says what it may run: its Content-Security-Policy has the hashes of its own style and script and allows nothing
// else, so that even a name that became markup could do nothing.
#pragma once

#include <string>

#include "report.h"

namespace assay {

std::string html(const Report& report);

}  // namespace assay
