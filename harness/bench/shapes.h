// Shapes of real networks: which cases are timed if nobody says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

// A case with why it is timed.
struct BenchCase {
  Case c;
  std::string reason;
  std::string place;  // where it was named: "relu.txt:3"
};

// A file of lines `CASE   # reason`, or all *.txt files of a folder, in order of their names. Empty lines and lines that begin
// with # are left out. Throws FileError that names file, line and what is wrong; a case without a reason is wrong, too, and so is one
// whose arguments are not allowed.
std::vector<BenchCase> read_shapes(const std::string& path);
// The same of one file's text, which may have no case.
std::vector<BenchCase> shapes_from(std::string_view text, const std::string& file);

// Of the repository that this program was built from, or of its installation.
std::string default_shapes();

}  // namespace assay
