#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "code_list.h"
#include "gaps.h"
#include "grid.h"
#include "short_run.h"
#include "style.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostReasons = 20;

std::string row_name(const Row& row) { return fmt::format("{} {} {}", row.op, row.impl, row.dtype); }

std::string joined(const std::set<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

// "Heading: what it means", wrapped, with the heading in bold.
std::string heading(const Style& style, std::string_view title, std::string_view meaning) {
  std::string text = paragraph(fmt::format("{}: {}", title, meaning), "", "  ");
  return style.heading(title) + text.substr(title.size());
}

// ---- What was not run, and what was refused ---------------------------------------------------------------

std::string not_run(const RunResult& run, const Style& style) {
  std::map<std::string, std::map<std::string, std::set<std::string>>>
      kernels;  // reason -> kernel -> operators
  for (const Row& row : run.rows)
    if (lacks_environment(row))
      kernels[row.reason.empty() ? "no reason given" : row.reason][row.impl].insert(row.op);
  if (kernels.empty()) return {};
  std::string out = heading(style, "Not run", "this machine lacks something that these kernels need.");
  for (const auto& [reason, operators_of] : kernels) {
    std::map<std::set<std::string>, std::set<std::string>>
        kernels_of;  // kernels with the same operators share a line
    for (const auto& [kernel, operators] : operators_of) kernels_of[operators].insert(kernel);
    out += paragraph(reason, "  ", "  ");
    for (const auto& [operators, names] : kernels_of)
      out += paragraph(fmt::format("{} for {}", joined(names), joined(operators)), "      ", "        ");
  }
  return out + "\n";
}

struct Refusal {
  std::uint64_t cases = 0;
  std::uint64_t undeclared = 0;
  std::set<std::string> kernels;
  std::set<std::string> operators;
};

std::string refused_by_peers(const RunResult& run, const Rules& rules, const Style& style) {
  std::map<std::string, std::uint64_t> cases_of;  // by kernel
  std::uint64_t cases = 0;
  for (const Row& row : run.rows)
    for (const auto& [reason, n] : row.refused)
      if (!rules.decides(row)) {
        cases_of[row.impl] += n;
        cases += n;
      }
  if (cases == 0) return {};
  std::vector<std::string> parts;
  for (const auto& [kernel, n] : cases_of) parts.push_back(fmt::format("{} {}", kernel, grouped(n)));
  return heading(style, "Refused by peers",
                 fmt::format("{} that other libraries do not support; the run file lists the reasons.",
                             counted(cases, "case"))) +
         paragraph(fmt::format("{}", fmt::join(parts, ", ")), "  ", "  ") + "\n";
}

std::string in_their_place(const RunResult& run, const Rules& rules) {
  std::uint64_t instead = 0;
  for (const Row& row : run.rows)
    if (rules.decides(row)) instead += row.instead;
  return instead > 0 ? fmt::format(" {} were judged in their place.", counted(instead, "other case")) : "";
}

std::string refused(const RunResult& run, const Rules& rules, const Style& style) {
  std::map<std::string, Refusal> refusals;
  std::uint64_t cases = 0;
  for (const Row& row : run.rows)
    for (const auto& [reason, n] : row.refused) {
      if (!rules.decides(row)) continue;
      Refusal& refusal = refusals[reason];
      cases += n;
      refusal.cases += n;
      if (!rules.declared(row, reason)) refusal.undeclared += n;
      refusal.kernels.insert(row.impl);
      refusal.operators.insert(row.op);
    }
  const std::string peers = refused_by_peers(run, rules, style);
  if (refusals.empty()) return peers;
  std::string out = heading(style, "Refused",
                            fmt::format("{} that kernels say they do not support.{}", counted(cases, "case"),
                                        in_their_place(run, rules)));
  std::size_t listed = 0;
  for (const auto& [reason, refusal] : refusals) {
    if (listed++ == kMostReasons) {
      out += fmt::format("  and {} more reasons, which the run file lists\n", refusals.size() - kMostReasons);
      break;
    }
    out += paragraph(reason, "  ", "  ");
    std::string who = fmt::format("{}: {} for {}", counted(refusal.cases, "case"), joined(refusal.kernels),
                                  joined(refusal.operators));
    if (refusal.undeclared > 0)
      who += fmt::format(" ({} of them not declared beforehand by the kernel's `refuses`)",
                         grouped(refusal.undeclared));
    out += paragraph(who, "      ", "        ");
  }
  return out + "\n" + peers;
}

// ---- Faults -----------------------------------------------------------------------------------------------

// Why the row fails, or why a peer's row is listed.
std::string summary(const Row& row, const Rules& rules) {
  std::vector<std::string> parts;
  for (int v = kVerdicts - 1; is_fault(static_cast<Verdict>(v)); --v)
    if (const std::uint64_t n = count_of(row, static_cast<Verdict>(v)); n > 0)
      parts.push_back(fmt::format("{} in {} of {}", words(static_cast<Verdict>(v)), grouped(n),
                                  counted(row.cases, "case")));
  if (row.verdict == Verdict::vacuous) {
    parts.push_back(
        proves_too_little(row)
            ? fmt::format("vacuous: any result at all would have passed for {:.1f}% of its elements; "
                          "above {:.0f}% proves too little",
                          100 * row.undecidable(), 100 * kUndecidableLimit)
            : "vacuous: none of its cases could have shown a fault");
  }
  if (row.strict && rules.decides(row))
    if (const std::vector<std::string> found = gaps(row); !found.empty())
      parts.push_back(found.size() == 1 ? found[0]
                                        : fmt::format("{}; and {} more gaps", found[0], found.size() - 1));
  std::uint64_t undeclared = 0;
  for (const auto& [reason, n] : row.refused)
    if (rules.decides(row) && !rules.declared(row, reason)) undeclared += n;
  if (row.given_up > 0)
    parts.push_back(
        fmt::format("given up, so that {} were not judged", counted(row.given_up, "case")));
  if (undeclared > 0)
    parts.push_back(fmt::format("refused {} without having declared it", counted(undeclared, "case")));
  if (parts.empty()) parts.push_back(words(row.verdict));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// What several failures of a row share is said with the first of them: which shapes they have is no matter.
std::string diagnosis_text(const Failure& failure, const std::vector<const Failure*>& shown) {
  if (failure.diagnosis.empty()) return {};
  const auto same = [&](const Failure* f) { return f->diagnosis == failure.diagnosis; };
  const auto first = std::ranges::find_if(shown, same);
  if (*first == &failure) return fmt::format("{}: {}", kDiagnosis, failure.diagnosis);
  const auto number = first - shown.begin() + 1;
  return number == 1 ? std::string("diagnosis: that of the first of these cases")
                     : fmt::format("diagnosis: that of number {} of these cases", number);
}

std::string failure_text(const Row& row, const Failure& failure, const std::vector<const Failure*>& shown) {
  std::string out = paragraph(failure.case_text, "    ", "      ");
  if (!failure.detail.empty())
    out += paragraph(failure.kind == row.verdict
                         ? failure.detail
                         : words(failure.kind) + ": " + without_words(failure.kind, failure.detail),
                     "      ", "      ");
  if (const std::string said = diagnosis_text(failure, shown); !said.empty())
    out += paragraph(said, "      ", "      ");
  return out + command(command_of(row, failure), 6);
}

std::string row_faults(const Row& row, const Rules& rules, const Style& style, std::size_t most,
                       bool decides) {
  const std::string text = paragraph(fmt::format("{}: {}", row_name(row), summary(row, rules)), "  ", "    ");
  const std::size_t end = text.find('\n');
  std::string out =
      (decides ? style.bad(text.substr(0, end)) : style.doubtful(text.substr(0, end))) + text.substr(end);
  if (!row.reason.empty()) out += paragraph(row.reason, "    ", "    ");
  const std::vector<const Failure*> shown = shown_failures(row, most);
  for (const Failure* failure : shown) out += failure_text(row, *failure, shown);
  if (shown.size() < row.failures.size())
    out += fmt::format("    and {} more in the run file\n", grouped(row.failures.size() - shown.size()));
  return out;
}

std::string fault_list(const std::vector<const Row*>& rows, const Rules& rules, const Style& style,
                       const TableOptions& options, std::size_t failures_per_row, bool decides) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out += row_faults(*rows[i], rules, style, i < options.rows_with_failures ? failures_per_row : 0, decides);
  return out + "\n";
}

std::string peers_that_disagree(const RunResult& run, const Rules& rules, const Style& style,
                                const TableOptions& options) {
  std::vector<const Row*> rows;
  for (const Row& row : run.rows)
    if (is_fault(row.verdict) && !rules.decides(row)) rows.push_back(&row);
  if (rows.empty()) return {};
  return heading(style, "Peers that disagree",
                 "other libraries, run for comparison; these do not decide the run.") +
         fault_list(rows, rules, style, options, 1, false);
}

std::string suspicious(const RunResult& run, const Style& style) {
  std::string out;
  for (const Row& row : run.rows)
    if (row.verdict == Verdict::suspicious)
      out += paragraph(
          fmt::format("{}: {}", row_name(row), row.reason.empty() ? "see the run file" : row.reason), "  ",
          "    ");
  if (out.empty()) return {};
  return heading(style, "Suspicious",
                 "inside the bounds, but unlikely for a right kernel; this never fails a run.") +
         out + "\n";
}

std::string faults(const RunResult& run, const Rules& rules, const Style& style,
                   const TableOptions& options) {
  std::vector<const Row*> rows;
  for (const Row& row : run.rows)
    if (fails(row, rules)) rows.push_back(&row);
  if (rows.empty()) return {};
  return heading(style, "Faults",
                 "each with the smallest case that shows it and the command that runs it again.") +
         fault_list(rows, rules, style, options, options.failures_per_row, true);
}

// ---- The last lines ---------------------------------------------------------------------------------------

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
  return rows == 0 ? "" : fmt::format(" {} given up: {} not judged.", rows == 1 ? "1 row was" : grouped(rows) + " rows were",
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
                     printable(joined(named)));
}

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
                    run.cases_not_run > 0
                        ? fmt::format("; {} not run", counted(run.cases_not_run, "generated case"))
                        : ""),
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

// How many recorded cases took part, and why the others did not.
std::string fixtures(const RunResult& run, const Style& style) {
  if (!run.fixtures) return {};
  const FixtureCount& f = *run.fixtures;
  std::uint64_t left_out = 0;
  std::vector<std::pair<std::uint64_t, std::string>> reasons;
  for (const auto& [reason, n] : f.left_out) {
    left_out += n;
    reasons.emplace_back(n, reason);
  }
  std::ranges::stable_sort(reasons, std::greater<>(), [](const auto& r) { return r.first; });
  std::string out =
      heading(style, "Fixtures",
              fmt::format("{} of {} in {} are of Assay's operators.", grouped(f.found - left_out),
                          counted(f.found, "recorded case"), f.source));
  for (const auto& [n, reason] : reasons)
    out += paragraph(fmt::format("{} not: {}", grouped(n), reason), "  ", "      ");
  return out + "\n";
}

std::string legend(const Style& style) {
  return style.faint(
             "Behind \"pass\": the largest error seen, where 1 is the most that is allowed. "
             "Behind a fault: how many cases show it.") +
         "\n" + style.faint("~: the share of elements for which any result would have passed.") + "\n\n";
}

}  // namespace

std::string table(const RunResult& run, const Rules& rules, const TableOptions& options) {
  const Style style(options.colour);
  std::string out = grid(run, rules, style);
  if (!out.empty()) out += legend(style);
  return out + fixtures(run, style) + not_run(run, style) + refused(run, rules, style) +
         gap_list(run, rules, style) + code_list(run, style) + suspicious(run, style) +
         peers_that_disagree(run, rules, style, options) + faults(run, rules, style, options) +
         conclusion(run, rules, style);
}

}  // namespace assay
