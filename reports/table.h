// A run as text for the terminal: a table, then what was not run, what was refused, peers that disagree,
// faults with the command that replays each, and one line that sums up. No line is wider than 120 columns.
#pragma once

#include <cstddef>
#include <string>

#include "row.h"

namespace assay {

struct TableOptions {
  bool colour = false;                  // ANSI colours
  std::size_t failures_per_row = 3;     // how many failures of a row are listed; the rest are counted
  std::size_t rows_with_failures = 20;  // how many rows have their failures listed
};

std::string table(const RunResult& run, const Rules& rules = {}, const TableOptions& options = {});

}  // namespace assay
