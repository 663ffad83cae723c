// ONNX's own tests of single operators: folders with model.onnx and test_data_set_N/{input,output}_M.pb.
#pragma once

#include <string>

#include "fixture.h"

namespace assay::onnx {

// Where Debian's package libonnx-testdata has them.
inline constexpr const char* kTests = "/usr/share/libonnx-testdata/data";

// Whether the folder is such a test, or has one in it or in a folder of its own.
bool is_tests(const std::string& folder);

// Every test in the folder and those below it, one fixture for each data set. What is no single operator of Assay's is
// counted by reason. Throws FileError that names the file that is truncated, damaged or missing.
Fixtures read_tests(const std::string& folder);

}  // namespace assay::onnx
