// How one kernel's speed went, as small as a word.
#pragma once

#include <string>

#include "history_file.h"

namespace assay {

// <svg>: a line through the points, a vertical line at each change, and a dot at the last point.
std::string sparkline(const HistorySeries& series);

}  // namespace assay
