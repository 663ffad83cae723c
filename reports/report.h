// What a report is made of: results that were read from files, and what is drawn beside them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench_file.h"
#include "history_file.h"
#include "result.h"
#include "selftest_file.h"

namespace assay {

// Where a recorded result diverges: the last dimension from left to right, all others from top to bottom.
struct TensorPicture {
  std::string output;  // its name
  std::uint64_t diverging = 0, elements = 0;
  std::size_t rows = 0, columns = 0;          // cells; each stands for a block of neighbours
  std::vector<float> share;                   // of each cell's elements, those that diverge; row by row
  std::uint64_t of_rows = 0, of_columns = 0;  // elements that a whole column, and a whole row, stand for
  std::string down, across;                   // which dimensions these are
};

struct ReportedRun {
  std::string name;  // of its file
  RunResult run;
  std::map<std::string, TensorPicture> pictures;  // by Failure::replay
};

struct Report {
  std::string title;
  std::vector<ReportedRun> runs;    // one part of the report each
  std::optional<ReportedRun> base;  // an older run: what it covered and `runs` do not is lost
  std::vector<SelftestFile> selftests;
  std::vector<BenchmarkFile> benches;
  std::optional<HistoryFile> history;
};

}  // namespace assay
