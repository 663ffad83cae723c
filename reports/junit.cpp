#include "junit.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "gaps.h"
#include "junit_suites.h"
#include "text.h"

namespace assay {
namespace {

std::string counts_text(const Row& row) {
  std::vector<std::string> parts;
  for (int v = 0; v < kVerdicts; ++v)
    if (const std::uint64_t n = count_of(row, static_cast<Verdict>(v)); n > 0)
      parts.push_back(fmt::format("{} {}", n, token(static_cast<Verdict>(v))));
  return parts.empty() ? "no cases" : fmt::format("{}", fmt::join(parts, ", "));
}

// All that is known of the row, in plain words.
std::string details(const Row& row) {
  std::string text = fmt::format("cases: {}\n", counts_text(row));
  if (row.elements > 0)
    text += fmt::format("worst error/bound: {:.4g}\nundecidable elements: {:.3g}%\n", row.worst,
                        100 * row.undecidable());
  if (!row.information.empty()) text += fmt::format("implementation: {}\n", row.information);
  if (row.judged > 0) text += fmt::format("judged cases: {} (asked for: {})\n", row.judged, row.asked);
  for (const std::string& gap : gaps(row)) text += fmt::format("gap: {}\n", gap);
  if (row.code) {
    text += fmt::format("coverage: {}\n", words(*row.code));
    for (const CodeGap& gap : row.code->gaps) text += fmt::format("not run: {}\n", words(gap));
  }
  for (const auto& [reason, cases] : row.refused)
    text += fmt::format("refused {} cases: {}\n", cases, reason);
  for (const Failure& f : row.failures) {
    text += fmt::format("\n{}: {}\n{}\n", token(f.kind), f.case_text, f.detail);
    if (!f.diagnosis.empty()) text += fmt::format("{}: {}\n", kDiagnosis, f.diagnosis);
    if (f.replay.empty()) continue;
    text += "replay:";
    for (const std::string& word : command_of(row, f)) text += " " + shell_word(word);
    text += "\n";
  }
  return text;
}

std::string message(const Row& row, const Rules& rules) {
  if (row_token(row, rules) == kUndeclaredRefusal)
    for (const auto& [reason, cases] : row.refused)
      if (!rules.declared(row, reason))
        return fmt::format("refused {} without having declared it: {}", counted(cases, "case"), reason);
  if (!row.reason.empty())
    return fmt::format("{}: {}", token(row.verdict), without_words(row.verdict, row.reason));
  if (const std::vector<std::string> found = gaps(row);
      row.strict && !is_fault(row.verdict) && !found.empty())
    return fmt::format("gap: {}", found[0]);
  if (row.verdict == Verdict::refused && !row.refused.empty())
    return fmt::format("refused: {}", row.refused.begin()->first);
  if (!row.failures.empty()) return fmt::format("{}: {}", token(row.verdict), row.failures.front().detail);
  return std::string(token(row.verdict));
}

JunitKind kind_of(const Row& row, const Rules& rules, const std::set<std::string>& named) {
  if (fails(row, rules))
    return row.verdict == Verdict::crashed || row.verdict == Verdict::timeout ? JunitKind::error
                                                                              : JunitKind::failure;
  if (rules.decides(row) && count_of(row, Verdict::not_run) > 0) return JunitKind::error;
  if (named.contains(row.impl)) return JunitKind::error;
  if (row.verdict == Verdict::pass || row.verdict == Verdict::suspicious) return JunitKind::passed;
  return JunitKind::skipped;
}

std::string incomplete(const RunResult& run) {
  if (!run.complete) return run.incomplete.empty() ? "the run was stopped" : run.incomplete;
  return run.rows.empty() ? "nothing ran: there is no kernel to run" : "";
}

}  // namespace

void add_to(JunitSuites& suites, const RunResult& run, const Rules& rules, const std::string& prefix) {
  const std::set<std::string> named = named_and_not_run(run);
  for (const Row& row : run.rows) {
    const JunitKind kind = kind_of(row, rules, named);
    const bool disagrees = kind == JunitKind::skipped && is_fault(row.verdict);
    suites.add({prefix + row.op, "assay." + row.op, row.impl + " " + row.dtype, kind,
                std::string(row_token(row, rules)),
                (disagrees ? "a peer disagrees, which does not decide the run; " : "") + message(row, rules),
                details(row)});
  }
  // A run to which --time gave an end has come to it: that is no error, as it is none for the exit code.
  const bool as_planned = !run.complete && run.incomplete == kOutOfTime && !stopped_before_the_first(run);
  add_incomplete(suites, prefix + "run", "assay.run", incomplete(run),
                 as_planned ? JunitKind::skipped : JunitKind::error);
  suites.seconds += run.seconds;
}

std::string junit(const RunResult& run, const Rules& rules) {
  JunitSuites suites;
  add_to(suites, run, rules, "");
  return suites.xml();
}

}  // namespace assay
