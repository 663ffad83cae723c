// Weights that are off by a number, or multiplied by one, for each group of neighbours: as where the zero points or scales of
// quantised weights are others.
#pragma once

#include <vector>

#include "evidence.h"
#include "inversion.h"

namespace assay::diagnose {

// Of the first tensor of two dimensions or more for which such numbers give every element that is looked at, of which there are more than
// numbers.
std::vector<Inverted> groups_of(Evidence& evidence);

}  // namespace assay::diagnose
