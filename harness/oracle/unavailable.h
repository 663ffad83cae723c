// Reasons as functions: assay_kernel::unavailable takes no argument.
#pragma once

#include <string>

namespace assay::oracle {

// A function that returns this reason, whenever it is called. Throws std::length_error after 1024 reasons.
using Unavailable = const char* (*)();
Unavailable unavailable(std::string reason);

}  // namespace assay::oracle
