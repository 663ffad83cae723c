// Results that are a factor times something else, and an offset: what is right, or an input.
#pragma once

#include <cstddef>
#include <vector>

#include "../model/call.h"
#include "inversion.h"
#include "observed.h"

namespace assay::diagnose {

// The result as factor * right + offset: everywhere, or for each index of a dimension. What is found is added to `found`.
void affine(const Observations& observed, const Shape& shape, std::vector<Inverted>& found);

// Of single elements: what diverges as factor * input + offset, the input being the call's i-th argument.
void line_of(const Call& call, std::size_t i, const Observations& observed, const Shape& shape,
             std::vector<Inverted>& found);

}  // namespace assay::diagnose
