// The argument check and the shapes of a case, before it has any data.
#pragma once

#include <optional>
#include <vector>

#include "vocabulary/case.h"
#include "vocabulary/check.h"

namespace assay {

// What check_arguments says of the case's arguments.
Checked check_case(const Case& c);

// The shape of each argument that is a tensor; nullopt for the others.
std::vector<std::optional<Shape>> shapes_of(const Case& c);

// The case's tensors, in schema order; those of lists are left out.
std::vector<TensorSpec*> tensors_of(Case& c);
std::vector<const TensorSpec*> tensors_of(const Case& c);

}  // namespace assay
