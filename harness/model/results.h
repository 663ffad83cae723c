// Results of a call without the gaps of their memory, and the words for their places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vocabulary/operator.h"
#include "vocabulary/shape.h"

namespace assay {

// Packed row-major, one for each output.
using PackedResults = std::vector<std::vector<std::byte>>;

// "out", or the output's name or number where there are several.
std::string output_name(const Operator& op, std::size_t output);
// "[1,0,2]" of an element's row-major number.
std::string index_text(const Shape& shape, std::int64_t element);

}  // namespace assay
