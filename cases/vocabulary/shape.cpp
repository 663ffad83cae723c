#include "shape.h"

#include <fmt/format.h>

namespace assay {

std::string text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace assay
