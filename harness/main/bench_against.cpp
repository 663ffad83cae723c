// assay bench --against
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "../bench/bench_table.h"
#include "../bench/context.h"
#include "../bench/gate.h"
#include "../bench/google.h"
#include "bench_flags.h"
#include "commands.h"
#include "interrupt.h"
#include "reports/file.h"
#include "reports/style.h"
#include "reports/text.h"
#include "terminal.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;
using GateVerdict = GateOutcome::Verdict;

constexpr std::size_t kCanaryEvery = 10;  // comparisons for each of the baseline with itself

std::string shown(GateVerdict v, const Style& style) {
  const std::string text = pad_right(token(v), 9);
  switch (v) {
    case GateVerdict::regressed:
      return style.bad(text);
    case GateVerdict::improved:
      return style.good(text);
    case GateVerdict::ambiguous:
      return style.doubtful(text);
    default:
      return style.faint(text);
  }
}

std::string line_of(const BenchRow& row, const Style& style) {
  std::string what = fmt::format("{} {}", row.impl, row.case_text);
  if (row.cache != Cache::warm) what += fmt::format(" {}", name(row.cache));
  if (row.threads > 1) what += fmt::format(" {} threads", row.threads);
  if (!row.gate)
    return paragraph(
        fmt::format("{}: {}", what, row.reason),
        fmt::format("  {:<9} ", row.status == BenchRow::Status::not_run ? "not run" : token(row.status)),
        std::string(14, ' '));
  const GateOutcome& g = *row.gate;
  std::string text = fmt::format("  {} ", shown(g.verdict, style));
  if (g.verdict == GateVerdict::unchanged) return text + printable(what) + '\n';
  const bool has_interval = std::isfinite(g.ratio.high);
  text += fmt::format(
      "{:+6.1f}%  {}  {}  {} rounds, finds {}\n", 100 * (g.ratio.median - 1),
      has_interval ? fmt::format("{:+.1f} to {:+.1f}%", 100 * (g.ratio.low - 1), 100 * (g.ratio.high - 1))
                   : "±?",
      time_of_call(row.ns.median), g.rounds,
      std::isfinite(g.detectable) ? fmt::format("{:.1f}%", 100 * g.detectable) : "nothing: too few rounds");
  text += paragraph(what, "            ", "            ");
  if (!g.note.empty()) text += paragraph(g.note, "            ", "            ");
  return text;
}

Gate make_gate(const BenchFlags& flags) {
  GateOptions options;
  options.bench = flags.options;
  options.dram_seconds = flags.dram_seconds;
  options.base = flags.against;
  options.skip_unchanged = !flags.all;
  if (flags.plugins.size() > 1)
    throw UsageError("--against compares one library: --plugin is given more than once");
  if (!flags.plugins.empty()) options.candidate = flags.plugins.front();
  try {
    return Gate(options, this_program());
  } catch (const RegistryError& error) {
    throw UsageError(fmt::format("--against {}: {}", flags.against, error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    throw UsageError(fmt::format("--against {}: {}", flags.against, error.code().message()));
  }
}

}  // namespace

int bench_against(const BenchFlags& flags) {
  const Placements placements = placements_of(flags.options);
  Gate gate = make_gate(flags);
  if (flags.study > 0) return bench_study(gate, flags);

  const bool text_out = flags.json != "-";
  const Style style(text_out && use_colour());
  const Stopwatch watch;
  if (text_out) print_placements(placements);
  GoogleRun google;
  Json context = bench_context(placements);
  context["seed"] = flags.options.seed;
  std::vector<BenchRow> rows;
  Canary canary;
  const std::vector<GateSubject>& subjects = gate.subjects();
  std::map<GateVerdict, int> counts;
  std::map<std::string, std::uint64_t> unseen;  // why it could not be seen whether code is the same
  int without = 0;
  std::size_t timed = 0, done = 0, contended = 0;
  {
    ProgressLine line;
    for (const GateSubject& s : subjects) {
      if (interrupted()) break;
      line.show(fmt::format(
          "{} of {}  {}  about {} left", done + 1, subjects.size(), text(s.bench_case->c).substr(0, 60),
          done == 0 ? "?" : duration_text(watch.seconds() / double(done) * double(subjects.size() - done))));
      BenchRow row;
      try {
        row = gate.compare(s);
        if (row.status == BenchRow::Status::measured) {
          contended += s.threads == 1 && row.contention > kContended;
          if (timed++ % kCanaryEvery == 0) gate.try_canary(s, canary);
        }
      } catch (const SessionStopped&) {
        // What was compared before its canary was stopped counts.
        if (row.status != BenchRow::Status::measured) break;
      }
      if (row.gate) ++counts[row.gate->verdict];
      if (row.gate && !row.gate->unseen.empty()) ++unseen[row.gate->unseen];
      without += row.gate ? 0 : 1;
      if (text_out) {
        line.clear();
        fmt::print("{}", line_of(row, style));
        std::fflush(stdout);
      }
      google.add({row});
      rows.push_back(std::move(row));
      ++done;
    }
  }
  const bool fit = canary.alarms == 0 && 2 * contended <= timed;
  Json tally = Json::object();
  for (const GateVerdict v : {GateVerdict::regressed, GateVerdict::improved, GateVerdict::same,
                              GateVerdict::ambiguous, GateVerdict::unchanged})
    tally[std::string(token(v))] = counts[v];
  context["gate"] = {{"base", flags.against},
                     {"candidate", flags.plugins.empty() ? "cpu" : flags.plugins.front()},
                     {"verdict counts", tally},
                     {"canary", {{"alarms", canary.alarms}, {"trials", canary.trials}}},
                     {"fit", fit}};
  context["complete"] = done == subjects.size();
  context["incomplete"] = done == subjects.size()
                              ? ""
                              : fmt::format("interrupted: {} of {} were compared", done, subjects.size());
  context["seconds"] = watch.seconds();
  if (!flags.json.empty()) write_file(flags.json, google.json(context));
  if (text_out) {
    if (done < subjects.size()) fmt::print("\nInterrupted: {} of {} were compared\n", done, subjects.size());
    std::string counted_verdicts;
    for (const auto& [name, n] : tally.items())
      counted_verdicts += fmt::format("{}{} {}", counted_verdicts.empty() ? "" : ", ", n.get<int>(), name);
    fmt::print("\n{}{}\n", counted_verdicts, without > 0 ? fmt::format(", {} not compared", without) : "");
    for (const auto& [why, n] : unseen)
      fmt::print("{}",
                 paragraph(fmt::format("Timed without knowing whether the machine code is the same: {} ({})",
                                       why, counted(n, "row")),
                           "", "  "));
    if (canary.trials > 0)
      fmt::print("The baseline beside a copy of itself: {} in {}\n",
                 counted(static_cast<std::uint64_t>(canary.alarms), "alarm"),
                 counted(static_cast<std::uint64_t>(canary.trials), "trial"));
    if (!fit)
      fmt::print("{}\n",
                 style.doubtful(canary.alarms > 0
                                    ? "This machine is not fit to judge now: a kernel differs from itself."
                                    : "This machine is not fit to judge now: others have its processors."));
    for (const BenchRow& r : rows)
      if (r.status == BenchRow::Status::failed || (r.gate && r.gate->verdict == GateVerdict::regressed))
        fmt::print("{}", line_of(r, style));
  }
  const bool failed =
      std::ranges::any_of(rows, [](const BenchRow& r) { return r.status == BenchRow::Status::failed; });
  if (failed) return kFaultFound;  // which no noise excuses
  if (!fit) return kEnvironment;
  if (counts[GateVerdict::regressed] > 0) return kFaultFound;
  if (interrupted()) return kInterrupted;
  return timed == 0 && counts[GateVerdict::unchanged] == 0 ? kEnvironment : kAllWell;
}

}  // namespace assay
