// From cases to rows, and from rows to the answer of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "result.h"

namespace assay {

// A row whose undecidable share is above this proves too little to pass.
inline constexpr double kUndecidableLimit = 0.01;

// How many of the row's cases had this verdict.
inline std::uint64_t count_of(const Row& row, Verdict v) { return row.counts[static_cast<std::size_t>(v)]; }

// Whether the share of undecidable elements is above kUndecidableLimit; in a row of fewer cases than kManyCases, by more than two standard
// errors. Undecidable elements often fill a whole case: one case of ten makes a tenth of the elements undecidable, and says little about
// the row. If every case has such elements, the standard error is 0.
inline constexpr std::uint64_t kManyCases = 200;
bool proves_too_little(const Row& row);

// The `reason` of a row none of whose cases belong to this run (a small shard, a filter, no time left):
// unlike other rows that are not_run, it says nothing about the machine.
inline constexpr std::string_view kNoCases = "no case of this row belongs to this run";

// Adds up what parts of a row are to take out.
void add(Replaced& sum, const Replaced& part);
// Of a row that has all of its parts: takes out of its counts what Row::replaced has.
void replace_cases(Row& row);

// The most severe verdict among the row's counts, with these exceptions: vacuous (when there is no fault)
// only when no case could have shown one or proves_too_little says so; refused only when every case was that has results to judge. A row without cases is not_run.
Verdict row_verdict(const Row& row);

// Rows that pass, and of which some case passed by a weakness alone that its kernel declares (Row::needs).
struct PassedByDeclaration {
  std::uint64_t rows = 0;
  std::map<std::string, std::uint64_t> fields;  // "nonfinite=unspecified" -> rows
};
PassedByDeclaration passed_by_declaration(const RunResult& run);

// Who decides the exit code.
struct Rules {
  // Whether this row's faults fail the run. By default those of peers do not, unless --impl named the peer.
  std::function<bool(const Row&)> decides = [](const Row& row) { return !row.peer || row.named; };
  // Whether the kernel had declared this refusal beforehand.
  std::function<bool(const Row&, std::string_view reason)> declared =
      [](const Row& row, std::string_view reason) { return !row.undeclared.contains(std::string(reason)); };
};

// The words of the command that shows a failure again: from its case file, or where there is none, from its case.
std::vector<std::string> command_of(const Row& row, const Failure& failure);

// What tells failures of one kind apart: of those that diverge their diagnosis, of others what happened, whatever numbers are in it.
std::string cause_of(const Failure& failure);
// Which failures of a row are shown where so many are: the first ones, but the first of each kind and cause in any case.
std::vector<const Failure*> shown_failures(const Row& row, std::size_t most);

// Whether the row alone makes the run fail.
bool fails(const Row& row, const Rules& rules);

// What files say of a row in one word: the token of its verdict, but where the row fails the run although that is none of a fault,
// why it does: kUndeclaredRefusal, or kGaps.
inline constexpr std::string_view kUndeclaredRefusal = "undeclared_refusal", kGaps = "gaps";
std::string_view row_token(const Row& row, const Rules& rules = {});
// The same as people read it: "pass", "memory fault", "undeclared refusal".
std::string row_words(const Row& row, const Rules& rules = {});

// Kernels that --impl names, not by a glob, and of which no row ran: this machine lacks what they need.
std::set<std::string> named_and_not_run(const RunResult& run);

// Whether it is a row of a kernel that this machine lacks something for.
bool lacks_environment(const Row& row);

// Rows that decide and of which some case could not be run although the kernel is there: processes, files or memory were missing.
std::uint64_t kept_from_running(const RunResult& run, const Rules& rules);

// Whether the run was stopped, interrupted or out of time, before any case ran.
bool stopped_before_the_first(const RunResult& run);

// Whether kernels refused every case of theirs, so that nothing is known of any result. Not of a shard, which may have met such
// cases only.
bool refused_everything(const RunResult& run);

// 0: all well. 1: a row fails. 3: every row lacks its environment (device, library, ISA), there is no row at all, every case
// was refused, some were kept from running, a kernel that was named did not run, or the run was stopped before the first case.
int exit_code(const RunResult& run, const Rules& rules = {});

}  // namespace assay
