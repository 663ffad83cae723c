// How close results come to what is allowed: for each kernel, how many of its rows have which largest error/bound.
#pragma once

#include <string>

#include "result.h"

namespace assay {

// Empty if no row has compared anything.
std::string bounds_chart(const RunResult& run);

}  // namespace assay
