// Reports of the samples, and how often a text has a part.
#pragma once

#include <string>

#include "bench_sample.h"
#include "reports/report.h"
#include "sample.h"

namespace assay {

inline Report sample_report() {
  Report report;
  report.title = "a title";
  report.runs.push_back({"run.json", sample_run(), {}});
  return report;
}

// Of measurements without a gate.
inline Report bench_report() {
  Report report;
  report.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  report.benches[0].rows[0].gate.reset();
  report.benches[0].gate.reset();
  report.benches[0].complete = true;
  return report;
}

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

}  // namespace assay
