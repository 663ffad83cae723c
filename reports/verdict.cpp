#include "verdict.h"

#include <fmt/format.h>

#include <stdexcept>

namespace assay {

Verdict verdict_of(std::string_view token) {
  for (std::size_t v = 0; v < kVerdictTokens.size(); ++v)
    if (kVerdictTokens[v] == token) return static_cast<Verdict>(v);
  throw std::invalid_argument(
      fmt::format("unknown verdict \"{}\"; the verdicts are {}", token, fmt::join(kVerdictTokens, ", ")));
}

}  // namespace assay
