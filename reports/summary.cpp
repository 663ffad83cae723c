#include "summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "conclusion.h"
#include "coverage.h"
#include "html_text.h"
#include "short_run.h"
#include "text.h"

namespace assay {
namespace {

using State = Headline::State;

void add_state(Headline& headline, State state) { headline.state = std::max(headline.state, state); }

std::string of_file(const Report& report, const std::string& name) {
  return report.runs.size() + report.selftests.size() + report.benches.size() > 1 ? name + ": " : "";
}

void add_runs(Headline& headline, const Report& report) {
  RunSummary all;
  std::uint64_t peers = 0;
  for (const ReportedRun& r : report.runs) {
    const RunSummary s = summarise(r.run);
    all.rows += s.rows;
    all.deciding += s.deciding;
    all.failing += s.failing;
    peers += peers_at_fault(s);
    const std::uint64_t kept = kept_from_running(r.run, {});
    const std::set<std::string> named = named_and_not_run(r.run);
    const bool some_ran = s.code == 3 && kept + named.size() > 0 && !std::ranges::all_of(r.run.rows, lacks_environment);
    add_state(headline, s.code == 1   ? State::failed
                        : s.code == 0 ? State::passed
                        : some_ran    ? State::incomplete
                                      : State::nothing);
    if (some_ran && kept > 0)
      headline.warnings.push_back(fmt::format("{}{} could not be run, although the kernel is there",
                                              of_file(report, r.name), counted(kept, "row")));
    if (!named.empty())
      headline.warnings.push_back(fmt::format("{}{}, which --impl names, did not run",
                                              of_file(report, r.name), fmt::join(named, ", ")));
    if (s.code == 3 && !some_ran)
      headline.warnings.push_back(of_file(report, r.name) +
                                  (r.run.rows.empty()
                                       ? "nothing ran: there is no kernel to run"
                                   : stopped_before_the_first(r.run)
                                       ? "nothing ran: the run was stopped before its first case"
                                       : "nothing ran: the machine lacks what every kernel needs"));
    if (const std::string note = short_run_note(r.run); !note.empty())
      headline.warnings.push_back(of_file(report, r.name) + note);
    if (!r.run.complete)
      headline.warnings.push_back(
          fmt::format("{}incomplete: {}{}", of_file(report, r.name),
                      r.run.incomplete.empty() ? "the run was stopped" : r.run.incomplete,
                      r.run.cases_not_run > 0 ? fmt::format("; {}", not_run_text(r.run)) : ""));
  }
  if (report.runs.empty()) return;
  headline.parts.push_back(
      all.failing > 0 ? fmt::format("{} of {} at fault", grouped(all.failing), counted(all.deciding, "row"))
                      : fmt::format("no fault in {}", counted(all.deciding, "row")));
  if (peers > 0) headline.parts.push_back(fmt::format("peers disagree in {}", counted(peers, "row")));
  if (!report.base) return;
  std::size_t lost = 0;
  for (const ReportedRun& r : report.runs) lost += coverage_lost(report.base->run, r.run).size();
  if (lost > 0) headline.parts.push_back(fmt::format("coverage lost in {}", counted(lost, "row")));
}

void add_selftests(Headline& headline, const Report& report) {
  std::uint64_t observable = 0, found = 0, alarms = 0, excused = 0;
  for (const SelftestFile& s : report.selftests) {
    const MutationScore score = score_of(s);
    observable += score.observable;
    found += score.found;
    for (const RightKernel& c : s.controls) alarms += c.alarm.empty() ? 0 : 1;
    for (const PlantedFault& p : s.planted) excused += p.wrongly_excused() ? 1 : 0;
    if (!s.complete)
      headline.warnings.push_back(of_file(report, s.name) + "incomplete: the self-test was interrupted");
  }
  if (report.selftests.empty()) return;
  headline.parts.push_back(
      fmt::format("{} of {} found", grouped(found), counted(observable, "planted fault")));
  if (alarms > 0) headline.parts.push_back(counted(alarms, "false alarm"));
  if (excused > 0)
    headline.parts.push_back(fmt::format("{} found that {} said to be unobservable", grouped(excused),
                                         excused == 1 ? "was" : "were"));
  add_state(headline, found < observable || alarms > 0 || excused > 0 ? State::failed
                      : observable > 0                                ? State::passed
                                                                      : State::unobserved);
}

// "2 kernel calls failed: cpu.avx2 relu:f32:self=4; cpu.avx2 relu:f32:self=5"
std::string failed_calls(const std::vector<const BenchRow*>& failed) {
  constexpr std::size_t kMostNamed = 3, kLongestName = 80;
  std::string s = counted(failed.size(), "kernel call") + " failed: ";
  for (std::size_t i = 0; i < std::min(failed.size(), kMostNamed); ++i)
    s += fmt::format("{}{} {}", i == 0 ? "" : "; ", shortened(failed[i]->impl, kLongestName),
                     shortened(failed[i]->case_text, kLongestName));
  if (failed.size() > kMostNamed) s += fmt::format("; and {} more", grouped(failed.size() - kMostNamed));
  return s;
}

void add_benches(Headline& headline, const Report& report) {
  std::uint64_t measured = 0, peers_failed = 0;
  std::vector<const BenchRow*> failed;
  std::array<std::uint64_t, kGateTokens.size()> gate{};
  std::uint64_t compared = 0, unfit = 0;  // on machines that were fit to, and on others
  for (const BenchmarkFile& b : report.benches) {
    for (const BenchRow& row : b.rows) {
      measured += row.measured() ? 1 : 0;
      if (row.fails())
        failed.push_back(&row);
      else
        peers_failed += row.has_failed() ? 1 : 0;
    }
    const auto counts = gate_counts(b);
    // Code is unchanged whatever the machine was like; what else was seen on one that is not fit says nothing.
    const bool fit = !b.gate || b.gate->fit;
    for (std::size_t v = 0; v < gate.size(); ++v) {
      const bool counts_here = fit || v == static_cast<std::size_t>(SpeedVerdict::unchanged);
      (counts_here ? gate[v] : unfit) += counts[v];
    }
    if (b.gate && b.gate->fit) compared += std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (!b.complete)
      headline.warnings.push_back(
          fmt::format("{}incomplete: {}", of_file(report, b.name),
                      b.incomplete.empty() ? "the benchmark was stopped" : b.incomplete));
    if (b.gate && !b.gate->fit)
      headline.warnings.push_back(of_file(report, b.name) +
                                  "the machine was not quiet enough to compare speeds on it");
  }
  if (report.benches.empty()) return;
  const std::uint64_t regressed = gate[static_cast<std::size_t>(SpeedVerdict::regressed)];
  const std::uint64_t improved = gate[static_cast<std::size_t>(SpeedVerdict::improved)];
  const std::uint64_t ambiguous = gate[static_cast<std::size_t>(SpeedVerdict::ambiguous)];
  const std::uint64_t unchanged = gate[static_cast<std::size_t>(SpeedVerdict::unchanged)];
  if (!failed.empty()) headline.parts.push_back(failed_calls(failed));
  headline.parts.push_back(counted(measured, "kernel call") + " measured");
  if (unchanged > 0) headline.parts.push_back(grouped(unchanged) + " of unchanged code");
  if (regressed > 0)
    headline.parts.push_back(counted(regressed, "regression"));
  else if (compared > 0)
    headline.parts.push_back("no regression");
  if (improved > 0) headline.parts.push_back(counted(improved, "improvement"));
  if (ambiguous > 0) headline.parts.push_back(grouped(ambiguous) + " undecided");
  if (unfit > 0)
    headline.parts.push_back(
        fmt::format("{} compared on a machine that was not fit to judge", counted(unfit, "kernel call")));
  if (peers_failed > 0)
    headline.parts.push_back(fmt::format("peers failed in {}", counted(peers_failed, "kernel call")));
  if (regressed > 0 || !failed.empty())
    add_state(headline, State::failed);
  else if (compared > 0)
    add_state(headline, State::passed);
  else if (measured > 0)
    add_state(headline, State::measured);
}

}  // namespace

RunSummary summarise(const RunResult& run, const Rules& rules) {
  RunSummary s;
  s.code = exit_code(run, rules);
  s.rows = run.rows.size();
  for (const Row& row : run.rows) {
    const bool decides = rules.decides(row);
    s.cases += row.cases;
    s.deciding += decides ? 1 : 0;
    s.failing += fails(row, rules) ? 1 : 0;
    ++(decides ? s.ours : s.peers)[static_cast<std::size_t>(row.verdict)];
  }
  return s;
}

std::uint64_t peers_at_fault(const RunSummary& summary) {
  std::uint64_t n = 0;
  for (int v = 0; v < kVerdicts; ++v)
    if (is_fault(static_cast<Verdict>(v))) n += summary.peers[static_cast<std::size_t>(v)];
  return n;
}

const Failure* telling_failure(const Row& row) {
  for (const Failure& f : row.failures)
    if (f.kind == row.verdict) return &f;
  return row.failures.empty() ? nullptr : &row.failures.front();
}

std::string verdict_counts(const std::array<std::uint64_t, kVerdicts>& counts) {
  std::vector<std::string> parts;
  for (int v = 0; v < kVerdicts; ++v)
    if (const std::uint64_t n = counts[static_cast<std::size_t>(v)]; n > 0)
      parts.push_back(counted(n, static_cast<Verdict>(v)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view Headline::word() const {
  static constexpr std::array<std::string_view, 6> kWords{"NOTHING RAN", "NOTHING OBSERVED", "MEASURED",
                                                          "PASSED",      "NO FAULT SO FAR",  "FAILED"};
  return kWords[static_cast<std::size_t>(state)];
}

Headline headline(const Report& report) {
  Headline h;
  add_runs(h, report);
  add_selftests(h, report);
  add_benches(h, report);
  const bool complete =
      std::ranges::all_of(report.runs, [](const ReportedRun& r) { return r.run.complete; }) &&
      std::ranges::all_of(report.selftests, &SelftestFile::complete) &&
      std::ranges::all_of(report.benches, &BenchmarkFile::complete);
  if (h.state == State::passed && !complete) h.state = State::incomplete;
  return h;
}

}  // namespace assay
