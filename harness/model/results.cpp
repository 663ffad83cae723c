#include "results.h"

#include <fmt/format.h>

namespace assay {

std::string output_name(const Operator& op, std::size_t output) {
  const auto results = op.schema.results();
  if (output < results.size() && !results[output].name.empty()) return std::string(results[output].name);
  return results.size() == 1 ? "out" : fmt::format("out{}", output);
}

std::string index_text(const Shape& shape, std::int64_t element) {
  return fmt::format("[{}]", fmt::join(index_of(shape, element), ","));
}

}  // namespace assay
