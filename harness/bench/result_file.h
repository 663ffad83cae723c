// What two commands need of a benchmark file: who took how long. Google Benchmark's own files are read too.
#pragma once

#include <string>
#include <vector>

#include "reports/bench_row.h"

namespace assay {

struct ResultFile {
  std::string name;
  std::string incomplete;  // why it does not hold all that was to be timed; empty if it does
  std::string
      machine;  // fingerprint; of Google Benchmark's files the host's name, number of processors and clock
  std::string commit;           // empty if the file does not say
  std::string date;             // as Google Benchmark writes it
  // Of Google Benchmark's own rows only the case, which is the benchmark's name, and the time.
  std::vector<BenchRow> rows;     // that were measured; no two of one key
  std::vector<BenchRow> untimed;  // with status and reason
};

// Of rows with one key the median time counts, and of repetitions in Google Benchmark's files the median that stands there; its
// interval is that of the median of the repetitions, and infinitely wide for a single one, as for all too few. Its
// benchmarks with an error have failed, and those that are skipped, or whose time is 0, are not run.
// Its benchmarks that are named after the wall's clock or one of their own are read by that. Throws FileError that names
// file and key.
ResultFile read_result_file(const std::string& path);
ResultFile result_file_from(std::string_view text, const std::string& name);

}  // namespace assay
