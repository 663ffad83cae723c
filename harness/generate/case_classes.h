// What a case tries that others of its operator may not: its kind of data, the classes of its shapes and layouts, and the
// choices among its other arguments.
#pragma once

#include <string>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

// Names such as "data edge", "shape empty", "layout permuted", "keepdim true", each once. A fault that shows only in cases of
// one class is found by a run that has one of them, and by no other.
std::vector<std::string> classes_of(const Case& c);

}  // namespace assay
