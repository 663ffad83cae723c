// Cases with other shapes: every tensor follows the symbols of the shape rule, layouts and axes follow the tensors.
#pragma once

#include <optional>

#include "vocabulary/case.h"

namespace assay {

// What a case's shapes are made of.
struct Shaped {
  const ShapeAlternative* alternative = nullptr;
  ShapeBinding binding;
};
// nullopt if the shapes do not go together.
std::optional<Shaped> shaped(const Case& c);

// The case with other sizes for its symbols and runs; `sizes` has runs of the same lengths as the case's own binding.
// A dimension that was broadcast stays 1.
Case resized(const Case& c, const Shaped& from, const ShapeBinding& sizes);

// The binding without this dimension of a run, and of the windows that lie in it.
ShapeBinding without_dimension(const Shaped& from, const std::string& run, std::size_t dimension);

// The case without it. An axis that named it names a neighbour.
Case without_run_dimension(const Case& c, const Shaped& from, const std::string& run, std::size_t dimension);

// The case in which the first tensor, and all tensors of its shape, have lost a dimension. It need not be allowed: a
// rule has alternatives of other ranks, or it has not.
Case without_shared_dimension(const Case& c, std::size_t dimension);

// The case in which tensor argument i, which may broadcast, has the full shape.
Case without_broadcast(const Case& c, const Shaped& from, std::size_t argument);

}  // namespace assay
