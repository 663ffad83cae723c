// Rows of a table that were taken for other indices than those that were given.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// Of embedding: which row of weight stands where an index asks for one, and what that has to do with the index: "takes indices above 127
// as 127". Or for which indices zeros stand there. Nothing where some row of the results is neither.
std::vector<Variant> gathered_of(Evidence& evidence);

}  // namespace assay::diagnose
