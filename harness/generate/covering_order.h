// The order of the cases of a short run: what is different comes first.
#pragma once

#include <cstdint>
#include <vector>

#include "vocabulary/operator.h"

namespace assay {

// A permutation of the numbers of an operator's first `cases` cases, a pure function of its arguments. So few of them as could be
// found stand in front that have each class of each case (classes_of), then so few of the others that have each class of those,
// and so on: wherever the order is cut, most of what the cases try was tried, and as often as could be.
std::vector<std::uint64_t> covering_order(const Operator& op, Dtype result_dtype, std::uint64_t seed,
                                          std::uint64_t cases);

}  // namespace assay
