// What a run, or a whole report, comes to: the first thing that is read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report.h"
#include "row.h"

namespace assay {

struct RunSummary {
  int code = 0;  // as the run exits
  std::uint64_t rows = 0, deciding = 0, failing = 0, cases = 0;
  std::array<std::uint64_t, kVerdicts> ours{};   // rows that decide, by verdict
  std::array<std::uint64_t, kVerdicts> peers{};  // the others
};

RunSummary summarise(const RunResult& run, const Rules& rules = {});

// Rows with faults that do not decide the run.
std::uint64_t peers_at_fault(const RunSummary& summary);

// The failure that shows the row's verdict; nullptr if none was kept.
const Failure* telling_failure(const Row& row);

// "678 pass, 339 not run"; empty if all are 0.
std::string verdict_counts(const std::array<std::uint64_t, kVerdicts>& counts);

// Of everything in a report. A report does not judge: it repeats what its files say.
struct Headline {
  enum class State {
    nothing,
    unobserved,  // planted faults none of which could be observed
    measured,    // nobody asked for a verdict
    passed,
    incomplete,  // it would have passed, and not all was done
    failed
  };  // the highest of its files
  State state = State::nothing;
  std::vector<std::string> parts;     // "no fault in 678 rows", "2 regressions"; with names from the files
  std::vector<std::string> warnings;  // what is incomplete, or cannot be relied on

  std::string_view word() const;  // "PASSED"
};

Headline headline(const Report& report);

}  // namespace assay
