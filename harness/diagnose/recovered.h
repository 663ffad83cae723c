// How much recovered parameters (inversion.h) say of the results.
#pragma once

#include <vector>

#include "inversion.h"

namespace assay::diagnose {

inline constexpr double kAllOfThem = 0.9999;  // of the elements

// Whether a parameter gives every element: which is a cause, where factors of results by their places are a description.
bool gives_all(const std::vector<Inverted>& inverted);

// The same of one number, or a factor and an offset of the whole result.
bool gives_all_with_few(const std::vector<Inverted>& inverted);

// Whether some are other than factors of the result near 1, another one for each index. Those are what an approximation gives that is
// computed once for each: a root in a norm.
bool is_recovered_otherwise(const std::vector<Inverted>& inverted);

}  // namespace assay::diagnose
