// Which torch would be imported, without importing it.
#pragma once

#include <string>

namespace assay::oracle {

// The path of each file on which it depends what torch offers, one a line: the interpreter, torch, its libraries, NumPy. Some may not be
// there. Starts the interpreter. Throws Missing.
std::string found_torch();

}  // namespace assay::oracle
