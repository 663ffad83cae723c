// `assay diff` of two tensors of a request.
#pragma once

#include <string>

#include "request.h"
#include "shared_memory.h"

namespace assay::serve {

// JSON: what diff::to_json() says of the two results, with its text as "text". Throws RequestError unless there are two.
std::string difference_of(const Request& request, const ReadMemory& read);

}  // namespace assay::serve
