// A tile of the results that was stored with its rows as columns: a block in which two dimensions are exchanged.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// Where the block around all that diverges is as long in one dimension as in another, and not the whole result: "has the tile whose
// dimension 0 is 16 to 31 and whose dimension 1 is 32 to 47 transposed". To be tried on all elements.
std::vector<Variant> turned_of(Evidence& evidence);

}  // namespace assay::diagnose
