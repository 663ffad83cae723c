#include "code_coverage.h"

#include <fmt/format.h>

#include "text.h"

namespace assay {
namespace {

// Never 100% where something is missing.
std::string share(std::uint64_t ran, std::uint64_t blocks) {
  const double percent = blocks == 0 ? 0 : 100.0 * static_cast<double>(ran) / static_cast<double>(blocks);
  return ran < blocks && percent > 99 ? "over 99%" : fmt::format("{:.0f}%", percent);
}

std::string counts(std::uint64_t ran, std::uint64_t blocks, std::uint64_t unjudged, const std::string& of) {
  std::string text = fmt::format("{} of {} ({}) of {} ran in judged cases", grouped(ran),
                                 counted(blocks, "block"), share(ran, blocks), of);
  if (unjudged > 0) text += fmt::format(", {} in refused or failed calls alone", grouped(unjudged));
  return text;
}

}  // namespace

std::string words(const CodeCoverage& c) {
  if (!c.reason.empty()) return c.reason;
  std::string text = counts(c.ran, c.blocks, c.unjudged, c.file);
  if (c.drawn > 0)
    text += fmt::format("; {} drawn towards the others, which reached {}",
                        c.drawn == 1 ? "1 case was" : grouped(c.drawn) + " cases were",
                        c.reached == 0 ? "none of them" : counted(c.reached, "block"));
  if (c.cut) text += "; calls ran more than there was room to write down, so there may be more";
  return text;
}

std::string words(const LibraryCoverage& c) {
  if (c.blocks == 0) return c.reason;
  std::string text = counts(c.ran, c.blocks, c.unjudged, c.library);
  if (!c.reason.empty()) text += "; " + c.reason;
  return text;
}

std::string words(const CodeGap& g) {
  const std::string place =
      g.file.empty()
          ? g.lines
          : fmt::format("{} {} of {}", g.lines.find_first_of("-,") == std::string::npos ? "line" : "lines",
                        g.lines, g.file);
  return fmt::format(
      "{}{}{}: {}", g.function, g.function.empty() ? "" : ", ", place,
      g.unjudged ? counted(g.blocks, "block") + ", in unjudged calls alone" : counted(g.blocks, "block"));
}

}  // namespace assay
