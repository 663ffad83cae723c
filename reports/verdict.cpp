#include "verdict.h"

#include <fmt/format.h>

#include <stdexcept>

#include "text.h"

namespace assay {

Verdict verdict_of(std::string_view token) {
  for (std::size_t v = 0; v < kVerdictTokens.size(); ++v)
    if (kVerdictTokens[v] == token) return static_cast<Verdict>(v);
  throw std::invalid_argument(
      fmt::format("unknown verdict \"{}\"; the verdicts are {}", token, fmt::join(kVerdictTokens, ", ")));
}

std::string words(Verdict v) {
  switch (v) {
    case Verdict::not_run:
      return "not run";
    case Verdict::wrongly_accepted:
      return "took arguments that are wrong";
    case Verdict::wrongly_rejected:
      return "rejected arguments that are right";
    case Verdict::memory:
      return "memory fault";
    default:
      return std::string(token(v));
  }
}

std::string counted(std::uint64_t n, Verdict v) {
  return v == Verdict::memory ? counted(n, words(v)) : fmt::format("{} {}", grouped(n), words(v));
}

std::string without_words(Verdict v, std::string_view text) {
  const std::string front = words(v) + ": ";
  if (text.starts_with(front)) text.remove_prefix(front.size());
  return std::string(text);
}

}  // namespace assay
