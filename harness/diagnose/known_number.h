// Numbers that people know by name.
#pragma once

#include <string>

namespace assay::diagnose {

// " (sqrt(2))", where a factor, which is known within so much, is such a number; else empty.
std::string known_number(double factor, double within);

}  // namespace assay::diagnose
