#include "markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "coverage.h"
#include "html_text.h"
#include "summary.h"
#include "svg.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostLines = 50;  // of a table
constexpr std::size_t kLongestCell = 300;

std::string cell(std::string_view text) { return markdown_text(shortened(text, kLongestCell)); }

void end_table(std::string& out, std::size_t all) {
  if (all > kMostLines) out += fmt::format("\nand {} more in the report\n", grouped(all - kMostLines));
}

void add_rows_of(std::string& out, std::string_view title, const std::vector<const Row*>& rows) {
  if (rows.empty()) return;
  out += fmt::format(
      "\n### {} ({})\n\n| operator | kernel | dtype | verdict | smallest case | what |\n|---|---|---|---|---|---|\n",
      title, grouped(rows.size()));
  for (std::size_t i = 0; i < std::min(rows.size(), kMostLines); ++i) {
    const Row& row = *rows[i];
    const Failure* f = telling_failure(row);
    out += fmt::format("| {} | {} | {} | **{}** | {} | {} |\n", cell(row.op), cell(row.impl), cell(row.dtype),
                       row_words(row), f == nullptr ? "" : cell(f->case_text),
                       cell(f == nullptr ? reason_of(row) : f->detail) +
                           (f != nullptr && !f->diagnosis.empty()
                                ? "<br>" + cell(fmt::format("{}: {}", kDiagnosis, f->diagnosis))
                                : ""));
  }
  end_table(out, rows.size());
}

void add_run(std::string& out, const Report& report, const ReportedRun& run) {
  const RunSummary s = summarise(run.run);
  std::vector<const Row*> faults, peers;
  for (const Row& row : run.run.rows)
    if (fails(row, {}))
      faults.push_back(&row);
    else if (is_fault(row.verdict))
      peers.push_back(&row);
  out += "\n## Verification";
  if (report.runs.size() > 1) out += " of " + cell(run.name);
  out += fmt::format("\n\n{} in {}, seed {}.", counted(s.cases, "case"), duration(run.run.seconds),
                     run.run.seed);
  if (const std::string ours = verdict_counts(s.ours); !ours.empty())
    out += fmt::format(" Rows that decide: {}.", ours);
  if (const std::string others = verdict_counts(s.peers); !others.empty())
    out += fmt::format(" Peers: {}.", others);
  out += "\n";
  add_rows_of(out, "Faults", faults);
  if (!peers.empty()) {
    out += "\n<details><summary>Peers that disagree</summary>\n";
    add_rows_of(out, "Peers that disagree", peers);
    out += "\n</details>\n";
  }
  if (!report.base) return;
  const std::vector<CoverageLoss> lost = coverage_lost(report.base->run, run.run);
  out += fmt::format("\n### Coverage lost since {}\n\n", cell(report.base->name));
  if (lost.empty()) {
    out += "None.\n";
    return;
  }
  out += "| operator | kernel | dtype | what | cases then | now | why |\n|---|---|---|---|--:|--:|---|\n";
  for (std::size_t i = 0; i < std::min(lost.size(), kMostLines); ++i) {
    const CoverageLoss& l = lost[i];
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(l.op), cell(l.impl), cell(l.dtype),
                       words(l.kind), grouped(l.before), grouped(l.now), cell(l.reason));
  }
  end_table(out, lost.size());
}

void add_selftest(std::string& out, const SelftestFile& file) {
  const MutationScore score = score_of(file);
  out += fmt::format("\n## Planted faults\n\n{} of {} found; {} cannot be observed.\n", grouped(score.found),
                     counted(score.observable, "fault"), grouped(score.unobservable));
  std::vector<const PlantedFault*> survived;
  for (const PlantedFault& p : file.planted)
    if (p.survived()) survived.push_back(&p);
  if (survived.empty()) return;
  out += "\n| operator | dtype | survived | what it does |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < std::min(survived.size(), kMostLines); ++i)
    out += fmt::format("| {} | {} | {} | {} |\n", cell(survived[i]->op), cell(survived[i]->dtype),
                       cell(survived[i]->variant), cell(survived[i]->says));
  end_table(out, survived.size());
}

// Our kernels beside the best peer of each case, the slowest first.
void add_against_peers(std::string& out, const BenchmarkFile& file) {
  constexpr std::size_t kMostCases = 500;
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : file.rows)
    if (row.measured() && row.best_peer) rows.push_back(&row);
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const BenchRow* a, const BenchRow* b) {
    return a->best_peer->ratio.median > b->best_peer->ratio.median;
  });
  out +=
      "\n| case | kernel | cache | time | of the limit | best peer | time / peer's | interval |\n"
      "|---|---|---|--:|--:|---|--:|---|\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kMostCases); ++i) {
    const BenchRow& row = *rows[i];
    const std::string share =
        row.limit ? fmt::format("{}% ({})", figure(100 * row.limit->share, 0), cell(row.limit->binds)) : "";
    const Estimate& ratio = row.best_peer->ratio;
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", cell(row.case_text), cell(row.impl),
                       cell(row.place()), time_text(row.ns.median), share, cell(row.best_peer->impl),
                       figure(ratio.median, 2), interval_text(ratio.low, ratio.high, 2));
  }
  if (rows.size() > kMostCases)
    out += fmt::format("\nand {} more in the report\n", grouped(rows.size() - kMostCases));
}

void add_failed_rows(std::string& out, const BenchmarkFile& file) {
  std::vector<const BenchRow*> failed;
  for (const BenchRow& row : file.rows)
    if (row.has_failed()) failed.push_back(&row);
  if (failed.empty()) return;
  std::stable_partition(failed.begin(), failed.end(), [](const BenchRow* row) { return row->fails(); });
  out += fmt::format("\n### Failed ({})\n\n| kernel | case | cache | why |\n|---|---|---|---|\n",
                     grouped(failed.size()));
  for (std::size_t i = 0; i < std::min(failed.size(), kMostLines); ++i)
    out += fmt::format("| {}{} | {} | {} | {} |\n", cell(failed[i]->impl), failed[i]->peer ? " (peer)" : "",
                       cell(failed[i]->case_text), cell(failed[i]->place()), cell(failed[i]->reason));
  end_table(out, failed.size());
}

void add_bench(std::string& out, const Report& report, const BenchmarkFile& file) {
  out += "\n## Performance";
  if (report.benches.size() > 1) out += " of " + cell(file.name);
  std::uint64_t measured = 0;
  for (const BenchRow& row : file.rows) measured += row.measured() ? 1 : 0;
  out += fmt::format("\n\n{} of {} measured in {}.", grouped(measured),
                     counted(file.rows.size(), "kernel call"), duration(file.seconds));
  if (!file.gate) {
    out += "\n";
    add_failed_rows(out, file);
    add_against_peers(out, file);
    return;
  }
  const auto counts = gate_counts(file);
  for (std::size_t v = counts.size(); v-- > 0;)
    if (counts[v] > 0) out += fmt::format(" {} {}.", grouped(counts[v]), kGateTokens[v]);
  out += "\n";
  add_failed_rows(out, file);
  std::vector<const BenchRow*> changed;
  for (const BenchRow& row : file.rows)
    if (row.gate &&
        (row.gate->verdict == SpeedVerdict::regressed || row.gate->verdict == SpeedVerdict::improved ||
         row.gate->verdict == SpeedVerdict::ambiguous))
      changed.push_back(&row);
  if (changed.empty()) return;
  std::stable_sort(changed.begin(), changed.end(), [&](const BenchRow* a, const BenchRow* b) {
    return std::pair(shown_verdict(file, *a->gate), a->gate->ratio.median) >
           std::pair(shown_verdict(file, *b->gate), b->gate->ratio.median);
  });
  out +=
      "\n| verdict | operator | case | kernel | cache | time / before | interval | time |\n|---|---|---|---|---|--:|---|--:|\n";
  for (std::size_t i = 0; i < std::min(changed.size(), kMostLines); ++i) {
    const BenchRow& row = *changed[i];
    const Estimate& ratio = row.gate->ratio;
    out +=
        fmt::format("| **{}** | {} | {} | {} | {} | {} | {} | {} |\n",
                    kGateTokens[static_cast<std::size_t>(shown_verdict(file, *row.gate))], cell(row.op),
                    cell(row.case_text), cell(row.impl), cell(row.place()), figure(ratio.median, 3),
                    interval_text(ratio.low, ratio.high, 3), row.measured() ? time_text(row.ns.median) : "");
  }
  end_table(out, changed.size());
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : clean(text)) {
    if (c == '\n' || c == '\t') {
      out += ' ';
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '@') {
      out += "&#64;";  // mentions nobody
    } else {
      // Any of these may be escaped; a full stop, a comma or a hyphen inside of a line is never markup.
      static constexpr std::string_view kMarkup = "\\`*_{}[]()#+!|~$:";
      if (kMarkup.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string markdown(const Report& report) {
  const Headline h = headline(report);
  std::string out =
      fmt::format("# {}: {}\n", h.word(), markdown_text(fmt::format("{}", fmt::join(h.parts, ", "))));
  out += "\n" + markdown_text(report.title) + "\n";
  for (const std::string& w : h.warnings) out += "\n> **" + markdown_text(w) + "**\n";
  for (const ReportedRun& run : report.runs) add_run(out, report, run);
  for (const SelftestFile& file : report.selftests) add_selftest(out, file);
  for (const BenchmarkFile& file : report.benches) add_bench(out, report, file);
  return out;
}

}  // namespace assay
