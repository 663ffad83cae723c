// The blocks of a kernel library, with their places in its source; and which of them ran, as ranges of lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../coverage/blocks.h"
#include "reports/code_coverage.h"
#include "symbols.h"

namespace assay {

enum class Ran : std::uint8_t { not_run, unjudged, judged };

class CodeMap {
 public:
  CodeMap() = default;
  // With what find_symbols() says of the modules' blocks, one after the other.
  CodeMap(std::vector<CoveredModule> modules, std::vector<SourcePlace> places, std::string missing);

  std::size_t blocks() const { return places_.size(); }
  const std::string& missing() const { return missing_; }
  std::size_t function_of(std::size_t block) const { return function_of_[block]; }
  std::size_t functions() const { return functions_; }

  // Of the functions that have some block with `ran` above not_run. `ran`: one for each block.
  CodeCoverage of_row(std::span<const Ran> ran) const;
  // Of all.
  LibraryCoverage of_library(std::span<const Ran> ran) const;

 private:
  std::vector<CodeGap> gaps(std::span<const Ran> ran, std::span<const std::size_t> blocks) const;
  std::string name_of(std::span<const std::size_t> blocks) const;

  std::vector<CoveredModule> modules_;
  std::vector<SourcePlace> places_;
  std::vector<std::uint64_t> addresses_;
  std::vector<std::size_t> module_of_, function_of_;
  std::size_t functions_ = 0;
  std::string missing_;
};

// Lines of one source, in which blocks begin.
struct CountedSourceLine {
  std::uint32_t line = 0;
  std::uint64_t not_run = 0, ran = 0;  // blocks
};
// Lines with blocks that did not run, "40-52, 60 (in part)": a range has no line between whose blocks ran. `lines` are in order.
std::string line_ranges(std::span<const CountedSourceLine> lines);

}  // namespace assay
