// What a case tries that others of its operator may not: its kind of data, the classes of its shapes and layouts, and the
// choices among its other arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

// Names such as "data edge", "shape empty", "layout permuted", "keepdim true", each once. A fault that shows only in cases of
// one class is found by a run that has one of them, and by no other.
std::vector<std::string> classes_of(const Case& c);

// Those of them that one argument has by itself, and those that the layouts of the results have.
std::vector<std::string> classes_of_argument(const Case& c, std::size_t argument);
std::vector<std::string> classes_of_results(const Case& c);

// Whether the class says something of the data alone, which no kernel knows when it refuses a call.
bool is_of_data(std::string_view name);

}  // namespace assay
