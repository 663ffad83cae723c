// Case files to begin with.
#pragma once

#include <string>
#include <vector>

namespace assay {

// Enrols the operators that the files' case texts speak of.
std::vector<std::string> seed_files();

}  // namespace assay
