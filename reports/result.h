// The result of a run, as run files, reports and the terminal show it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "code_coverage.h"
#include "counted_line.h"
#include "verdict.h"

namespace assay {

// Printed in front of Failure::diagnosis.
inline constexpr std::string_view kDiagnosis = "diagnosis of the cases as they were found";

// Whose call went wrong after one of another kernel, in the same process, and is right in a fresh one.
struct Harmed {
  std::string impl, case_text;
  bool repeated = false;                  // it showed when the call was made again and again alone
  std::vector<std::string> before = {};   // cases of the kernel that did it, called before the case that is named, where they must be
  bool after_repeats = false;             // ... and that one must be called again and again
  friend bool operator==(const Harmed&, const Harmed&) = default;
};

struct Failure {
  std::string case_text;
  Verdict kind = Verdict::diverged;
  std::string detail;  // in plain words: which element, what was expected, what came
  std::string replay;  // path of the case file, or empty
  std::string
      diagnosis;  // of the row's cases with one cause before they were made small; empty until somebody has looked
  std::uint64_t index = 0;    // which case of the row, for a stable order
  std::string contract = {};  // what --contract said, for a command that judges the case again; else empty
  std::string plugin = {};    // path of a plugin kernel's library, which a replay has to name; else empty
  bool harms_others = false;  // the call is wrong only in what it does to calls after it
  std::optional<Harmed> harmed = {};  // and to which, where that is known
};

// What cases had been counted as before they were counted again: a kernel is found to have damaged its process after its own case has been
// counted, perhaps in another part of the row. Until replace_cases() is called, Row::cases and Row::counts have both.
struct Replaced {
  std::array<std::uint64_t, kVerdicts> counts{};
  std::map<std::string, std::uint64_t> refused = {}, undeclared = {}, needs = {};
  friend bool operator==(const Replaced&, const Replaced&) = default;
};

// Of the calls of one class ("stride all 2", "layout channels_last"): how many the kernel was judged on, and how many it refused.
struct ClassCount {
  std::uint64_t judged = 0;
  std::uint64_t refused = 0;
  bool ordinary = false;               // calls of networks are of this class
  std::set<std::string> reasons = {};  // of the refusals
  friend bool operator==(const ClassCount&, const ClassCount&) = default;
};

// operator x kernel x dtype
struct Row {
  std::string op;
  std::string impl;
  bool peer = false;
  bool named = false;  // --impl named the kernel: a peer's row then decides the exit code too
  bool literally = false;  // and not by a glob: that it did not run is no success then
  std::string dtype;
  Verdict verdict = Verdict::pass;
  std::uint64_t cases = 0;  // executed
  std::array<std::uint64_t, kVerdicts> counts{};
  std::map<std::string, std::uint64_t> refused;     // reason -> cases
  std::map<std::string, std::uint64_t> undeclared;  // those of them not declared beforehand by the kernel
  std::map<std::string, std::uint64_t>
      needs;  // of a peer or plugin: declared weakness -> cases that passed by it alone
  std::uint64_t asked =
      0;  // cases that were generated for the row to judge, without those in place of refused ones; 0: of a list
  std::uint64_t judged = 0;                   // cases whose results were judged
  std::uint64_t instead = 0;                  // those of them that were drawn in place of refused ones
  std::map<std::string, ClassCount> classes;  // of calls; of rows that decide
  bool strict = false;                        // what gaps() says fails the row
  std::vector<std::string> may_refuse;        // globs on reasons whose refusals are no gaps
  std::uint64_t elements = 0;
  std::uint64_t undecidable_elements = 0;
  std::uint64_t undecidable_cases = 0;  // in which more than kUndecidableLimit of the elements are
  double worst = 0;                     // largest error/bound seen
  std::string worst_case;               // its case text
  std::string reason;                   // why not_run, or a summary of what failed
  std::string information;              // which code ran (oneDNN's impl_info_str), distinct values joined
  std::uint64_t given_up = 0;           // cases that are not_run because the kernel hung too often before
  std::vector<Failure> failures;
  Replaced replaced;                 // of a part in a journal
  std::optional<CodeCoverage> code;  // of runs with --coverage alone

  double undecidable() const { return elements == 0 ? 0 : double(undecidable_elements) / double(elements); }
};

struct Machine {
  std::string cpu;
  int cores = 0;
  std::vector<std::string> isa;                  // levels this machine runs
  std::map<std::string, std::string> libraries;  // name -> version, or "missing: how to install"
  std::string compiler;
  std::string version;  // of Assay
};

// Of a run on fixtures: recorded cases in place of generated ones.
struct FixtureCount {
  std::string source;                             // what --fixtures named
  std::uint64_t found = 0;                        // cases that it has
  std::map<std::string, std::uint64_t> left_out;  // reason -> cases that cannot be run as operators of Assay
};

// Of a short run: which part of the thorough one it was.
struct ShortRun {
  double budget = 0;                  // seconds
  std::uint64_t cases = 0;            // that each operator and dtype had, ...
  std::uint64_t of = 0;               // ... of so many
  std::vector<std::string> left_out;  // kernels that would have run
  std::map<std::string, std::uint64_t>
      sampled;  // peers -> cases of each operator and dtype that they had, at most `cases`
  std::vector<std::string> not_built = {};  // parts whose kernels would have run
};

// Why a run is incomplete that --time gave an end.
inline constexpr std::string_view kOutOfTime = "out of time";

struct RunResult {
  std::vector<std::string> command;
  Machine machine;
  std::uint64_t seed = 0;
  std::string contract;  // fields that every kernel was judged by, whatever it declares; or empty
  double seconds = 0;
  bool complete = true;               // false: interrupted or out of time
  std::string incomplete;             // why
  std::uint64_t cases_not_run = 0;    // generated ones, each of which several kernels run
  std::optional<ShortRun> short_run;  // which is complete although it left cases out
  std::optional<std::string> shard;   // "1/4"
  std::optional<FixtureCount> fixtures;
  std::vector<Row> rows;              // sorted by operator, dtype, impl
  std::vector<CountedLine> accesses;  // most wasteful first; of runs with --check alone
  std::vector<LibraryCoverage> code;  // of runs with --coverage alone
};

}  // namespace assay
