// Which blocks of a kernel's own code the cases of a run ran: results of `assay verify --coverage`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

// What did not run of one function.
struct CodeGap {
  std::string function;  // "run"
  std::string file;      // where the source has it; empty: not known, and `lines` are places in the library
  std::string lines;     // "40-52, 60 (in part)"
  std::uint64_t blocks = 0;
  bool unjudged = false;  // they ran, but only in calls that were refused, or that ended without results

  friend bool operator==(const CodeGap&, const CodeGap&) = default;
};

// Of one row: the functions that its calls entered.
struct CodeCoverage {
  std::string reason;          // why nothing is known; then the rest is empty
  std::string file;            // the source, or the library where it has several
  std::uint64_t blocks = 0;    // of these functions
  std::uint64_t ran = 0;       // of them in cases that were judged
  std::uint64_t unjudged = 0;  // of them in other cases alone
  std::uint64_t drawn = 0;     // cases that were drawn towards blocks that had not run
  std::uint64_t reached = 0;   // blocks that those were the first to run
  bool cut = false;            // a call ran more than could be written down
  std::vector<CodeGap> gaps;

  friend bool operator==(const CodeCoverage&, const CodeCoverage&) = default;
};

// Of one source file of a library, by all rows of a run.
struct FileCoverage {
  std::string file;
  std::uint64_t blocks = 0, ran = 0;
  std::vector<std::uint64_t> lines_not_run;  // lines with blocks of which none ran in a judged case

  friend bool operator==(const FileCoverage&, const FileCoverage&) = default;
};

struct LibraryCoverage {
  std::string library;
  std::string reason;  // why nothing is known, or what is missing
  std::uint64_t blocks = 0, ran = 0, unjudged = 0;
  std::vector<FileCoverage> files;
  std::vector<CodeGap> never_entered;  // functions that no call of any row has entered

  friend bool operator==(const LibraryCoverage&, const LibraryCoverage&) = default;
};

// "41 of 43 blocks (95%) of relu.c ran in judged cases", and what else there is to say in one line.
std::string words(const CodeCoverage& coverage);
std::string words(const LibraryCoverage& coverage);
// "run, lines 40-52 of relu.c: 3 blocks"
std::string words(const CodeGap& gap);

}  // namespace assay
