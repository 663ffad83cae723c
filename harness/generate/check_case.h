// The argument check and the shapes of a case, before it has any data.
#pragma once

#include <vector>

#include "vocabulary/case.h"
#include "vocabulary/check.h"

namespace assay {

// What check_arguments says of the case's arguments.
Checked check_case(const Case& c);

// Which alternative of the shape rule the case's arguments match, if they do.
ShapeMatch match_case(const Case& c);

// The case with the shapes that the shape rule computes for some of its tensors (computed_shapes); their layouts are kept
// where they fit.
Case settled(Case c);

// The case's tensors, in schema order; those of lists are left out.
std::vector<TensorSpec*> tensors_of(Case& c);
std::vector<const TensorSpec*> tensors_of(const Case& c);

}  // namespace assay
