// Which elements of a large result are looked at closely.
#pragma once

#include <cstddef>
#include <vector>

#include "vocabulary/dtype.h"

namespace assay {

// Keeps `most` of these elements, in their order: those that are farthest from the reference's values, relative to them, and the
// first of equal ones. What is no number on one side is farthest. `packed` is the result in row-major order. Precondition: there
// are more than `most`, in ascending order.
void keep_farthest(std::vector<std::size_t>& elements, const std::vector<std::byte>& packed,
                   const std::vector<double>& values, Dtype dtype, std::size_t most);

}  // namespace assay
