// The texts of cases/shapes/*.txt and cases/layers/*.txt as they were when the program was built (layer_lists.cpp.in).
#pragma once

#include <span>
#include <string_view>

namespace assay {

// One for each file: a line is empty, or a case with a reason after #, or begins with #.
std::span<const std::string_view> layer_lists();

}  // namespace assay
