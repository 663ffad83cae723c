// Sums of products that miss, repeat or mix up tiles of their terms: everywhere, or in a block of results alone.
#pragma once

#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// Faults that give the elements that are looked at, to be tried on all: a tile of one operand that is of another step, two ranges of terms
// that are lost, a number that is added to all of a tensor, as a wrong zero point does; and where a block of results diverges alone, a
// range of terms that it lacks, counts twice, or takes from elsewhere. None of an operator that is no sum of products.
std::vector<Variant> tiles_of(Evidence& evidence);

}  // namespace assay::diagnose
