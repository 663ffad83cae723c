// Faults that a part of the results has: a block, a stretch of them in row-major order, or the border of the last dimensions.
#pragma once

#include <span>
#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// Each of `faults`, the first few of them, in the least part of the results in which all lie that diverge: "where dimension 0 is 64 or
// more". None, if they lie everywhere, or hardly any diverges.
std::vector<Variant> in_part_of(Evidence& evidence, std::span<const Variant* const> faults);

}  // namespace assay::diagnose
