#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "code_list.h"
#include "conclusion.h"
#include "gaps.h"
#include "grid.h"
#include "style.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostListedReasons = 20;

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
    if (listed++ == kMostListedReasons) {
      out += fmt::format("  and {} more reasons, which the run file lists\n",
                         refusals.size() - kMostListedReasons);
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
             "After \"pass\": the largest error seen, where 1 is the most that is allowed. "
             "After a fault: how many cases show it.") +
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
