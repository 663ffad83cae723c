#include "conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "gaps.h"
#include "short_run.h"
#include "text.h"

namespace assay {
namespace {

// "12 pass, 1 refused" of the rows that decide, or of the others.
std::string row_counts(const RunResult& run, const Rules& rules, bool decides) {
  std::map<Verdict, std::uint64_t> counts;
  std::uint64_t undeclared = 0, with_gaps = 0;
  for (const Row& row : run.rows) {
    if (rules.decides(row) != decides) continue;
    const bool otherwise_well = !is_fault(row.verdict) && row.verdict != Verdict::vacuous;
    if (otherwise_well && decides && row.strict && !gaps(row).empty())
      ++with_gaps;
    else
      ++(otherwise_well && fails(row, rules) ? undeclared : counts[row.verdict]);
  }
  std::vector<std::string> parts;
  if (with_gaps > 0) parts.push_back(fmt::format("{} with gaps", grouped(with_gaps)));
  if (undeclared > 0) parts.push_back(fmt::format("{} with undeclared refusals", grouped(undeclared)));
  for (const auto& [verdict, n] : counts) parts.push_back(counted(n, verdict));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Of how many rows something stays unknown.
std::string left_unknown(const RunResult& run, const Rules& rules) {
  const auto rows = std::ranges::count_if(
      run.rows, [&](const Row& row) { return rules.decides(row) && !gaps(row).empty(); });
  return rows == 0 ? ""
                   : fmt::format(
                         " {} gaps in what was judged: see \"Gaps\" above.",
                         rows == 1 ? "1 row has" : grouped(static_cast<std::uint64_t>(rows)) + " rows have");
}

// Of how many rows kernels were given up.
std::string given_up(const RunResult& run) {
  std::uint64_t rows = 0, cases = 0;
  for (const Row& row : run.rows) {
    rows += row.given_up > 0 ? 1 : 0;
    cases += row.given_up;
  }
  return rows == 0 ? ""
                   : fmt::format(" {} given up: {} not judged.",
                                 rows == 1 ? "1 row was" : grouped(rows) + " rows were",
                                 cases == 1 ? "1 case was" : grouped(cases) + " cases were");
}

// What the verdicts mean where kernels were not judged by what they declare.
std::string contract_note(const RunResult& run) {
  if (run.contract.empty()) return {};
  return paragraph(fmt::format("Kernels were judged by --contract \"{}\", which overrides what they declare.",
                               printable(run.contract)),
                   "  ", "  ");
}

// Of other libraries and plugins: "pass" says that they are as good as they say, which may be little.
std::string declaration_note(const RunResult& run) {
  constexpr std::size_t kMostFields = 6;
  const PassedByDeclaration passed = passed_by_declaration(run);
  if (passed.rows == 0) return {};
  std::vector<std::pair<std::uint64_t, std::string>> fields;
  for (const auto& [field, rows] : passed.fields) fields.emplace_back(rows, field);
  std::ranges::stable_sort(fields, std::greater<>(), [](const auto& f) { return f.first; });
  std::vector<std::string> parts;
  for (const auto& [rows, field] : fields)
    if (parts.size() < kMostFields) parts.push_back(fmt::format("{}: {}", printable(field), grouped(rows)));
  if (fields.size() > kMostFields) parts.push_back(fmt::format("and {} more", fields.size() - kMostFields));
  return paragraph(
      fmt::format("{} only under what {} ({}); --contract strict judges without it.",
                  passed.rows == 1 ? "1 row of a peer or plugin passes"
                                   : grouped(passed.rows) + " rows of peers and plugins pass",
                  passed.rows == 1 ? "its kernel declares" : "their kernels declare", fmt::join(parts, ", ")),
      "  ", "  ");
}

std::string what_did_not_run(const RunResult& run, const Rules& rules) {
  const std::uint64_t kept = kept_from_running(run, rules);
  const std::set<std::string> named = named_and_not_run(run);
  if (named.empty()) return fmt::format("{} could not be run", grouped(kept));
  return fmt::format("{}{}, which --impl names, did not run",
                     kept > 0 ? fmt::format("{} could not be run, and ", grouped(kept)) : "",
                     printable(fmt::format("{}", fmt::join(named, ", "))));
}

}  // namespace

std::string conclusion(const RunResult& run, const Rules& rules, const Style& style) {
  std::uint64_t cases = 0;
  std::uint64_t refused = 0;
  std::uint64_t failing = 0;
  std::size_t deciding = 0;
  for (const Row& row : run.rows) {
    cases += row.cases;
    if (fails(row, rules)) ++failing;
    if (!rules.decides(row)) continue;
    ++deciding;
    refused += count_of(row, Verdict::refused);
  }
  const std::string ours = deciding == 0 ? "" : fmt::format(" ({})", row_counts(run, rules, true));
  const std::string peers =
      deciding == run.rows.size() ? "" : fmt::format(" Peers: {}.", row_counts(run, rules, false));
  const int code = exit_code(run, rules);
  std::string verdict;
  if (run.rows.empty())
    verdict = "NOTHING RAN: there is no kernel to run.";
  else if (stopped_before_the_first(run))
    verdict = "NOTHING RAN: the run was stopped before its first case.";
  else if (code == 3 && refused_everything(run))
    verdict = "NOTHING RAN: every case was refused; see \"Refused\" above.";
  else if (code == 3 && !std::ranges::all_of(run.rows, lacks_environment))
    verdict = fmt::format("NOT ALL RAN: no fault in {}{}, but {}; see \"Not run\" above.{}",
                          counted(deciding, "row"), ours, what_did_not_run(run, rules), peers);
  else if (code == 3)
    verdict = "NOTHING RAN: this machine lacks what every kernel needs; see \"Not run\" above.";
  else if (code == 1)
    verdict = fmt::format("FAILED: {} of {} at fault{}.{}", grouped(failing), counted(deciding, "row"), ours,
                          peers);
  else if (cases == 0 && run.complete)
    verdict = "NOTHING TO DO: none of the cases belongs to this run.";
  else
    verdict = fmt::format("{} in {}{}.{}", run.complete ? "PASSED: no fault" : "NO FAULT SO FAR",
                          counted(deciding, "row"), ours, peers);
  verdict += left_unknown(run, rules) + given_up(run);
  std::string out;
  if (!run.complete) {
    const std::string text = paragraph(
        fmt::format("INCOMPLETE: {}{}", run.incomplete.empty() ? "the run was stopped" : run.incomplete,
                    run.cases_not_run > 0 ? fmt::format("; {}", not_run_text(run)) : ""),
        "", "  ");
    out += style.doubtful(text.substr(0, text.size() - 1)) + "\n";
  }
  std::string line = paragraph(verdict, "", "  ");
  line.pop_back();
  const std::string figures =
      fmt::format("{}{} in {}, seed {}{}.", counted(cases, "case"),
                  refused > 0 ? fmt::format(", {} of them refused,", grouped(refused)) : "",
                  duration(run.seconds), run.seed, run.shard ? ", shard " + printable(*run.shard) : "");
  const std::size_t last = line.rfind('\n') + 1;  // 0 if there is one line only
  line += (width(line) - last + 1 + width(figures) <= kTextWidth ? " " : "\n") + figures;
  const std::string note = short_run_note(run);
  return out + (code == 0 ? style.good(line) : style.bad(line)) + "\n" + contract_note(run) +
         declaration_note(run) + (note.empty() ? "" : paragraph(note, "  ", "  "));
}

std::string not_run_text(const RunResult& run) {
  return fmt::format("{} not run, over all operators and dtypes, invalid calls included",
                     counted(run.cases_not_run, "generated case"));
}

}  // namespace assay
