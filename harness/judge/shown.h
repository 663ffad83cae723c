// Numbers and bounds as messages have them.
#pragma once

#include <string>

#include "vocabulary/reference.h"

namespace assay {

// With as many digits as tell it from its neighbours. NaN is "NaN": its sign says nothing.
std::string shown(double x, Dtype dtype);
// "[1.25, 1.2500001] or NaN"
std::string shown(const Interval& interval, Dtype dtype);

}  // namespace assay
