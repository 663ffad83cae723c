// assay bench --against
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "../bench/bench_table.h"
#include "../bench/context.h"
#include "../bench/gate_tally.h"
#include "../bench/google_file.h"
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
using GateVerdict = SpeedVerdict;

constexpr std::size_t kCanaryEvery = 10;  // comparisons for each of the baseline with itself
constexpr double kWriteEvery = 5;         // seconds
constexpr std::string_view kRunning = "it is still running";

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

// In percent, "+1.2"; what rounds to nothing has no sign of its own.
std::string difference(double ratio) {
  const double percent = std::round(1000 * (ratio - 1)) / 10;
  return fmt::format("{:+.1f}", percent == 0 ? 0.0 : percent);
}

std::string line_of(const BenchRow& row, const Style& style) {
  std::string what = fmt::format("{} {}", row.impl, row.case_text);
  if (row.cache != name(Cache::warm)) what += " " + row.cache;
  if (row.threads > 1) what += fmt::format(" {} threads", row.threads);
  if (!row.gate)
    return paragraph(
        fmt::format("{}: {}", what, row.reason),
        fmt::format("  {:<9} ", row.status == BenchStatus::not_run ? "not run" : token(row.status)),
        std::string(14, ' '));
  const GateOutcome& g = *row.gate;
  std::string text = fmt::format("  {} ", shown(g.verdict, style));
  if (g.verdict == GateVerdict::unchanged) return text + printable(what) + '\n';
  const bool has_interval = std::isfinite(g.ratio.high);
  text += fmt::format(
      "{}%  {}  {}  {:>3} rounds, finds {}\n", pad_left(difference(g.ratio.median), 6),
      pad_right(
          has_interval ? fmt::format("{} to {}%", difference(g.ratio.low), difference(g.ratio.high)) : "±?",
          16),
      pad_left(time_of_call(row.ns.median), 8), g.rounds,
      std::isfinite(g.detectable) ? fmt::format("{:.1f}%", 100 * g.detectable) : "nothing: too few rounds");
  text += paragraph(what, "            ", "            ");
  if (!g.note.empty()) text += paragraph(g.note, "            ", "            ");
  return text;
}

constexpr GateVerdict kVerdicts[] = {GateVerdict::regressed, GateVerdict::improved, GateVerdict::same,
                                     GateVerdict::ambiguous, GateVerdict::unchanged};

Json json_of(const std::map<GateVerdict, int>& counts) {
  Json all = Json::object();
  for (const GateVerdict v : kVerdicts) {
    const auto at = counts.find(v);
    all[std::string(token(v))] = at == counts.end() ? 0 : at->second;
  }
  return all;
}

// With what the canary had come to by then.
nlohmann::json json_of(const Canary& c) {
  return {{"alarms", c.alarms}, {"trials", c.trials}, {"without", c.without}};
}

Canary canary_of(const nlohmann::json& j) {
  Canary c;
  c.alarms = j.at("alarms");
  c.trials = j.at("trials");
  c.without = j.at("without");
  return c;
}

std::string key_of(const GateSubject& s) {
  return fmt::format("{} {} {} {}", text(s.bench_case->c), name(s.cache), s.threads, s.candidate->name);
}

void print(const GateTally& tally, const Style& style) {
  std::vector<std::string> verdicts;
  const Json counts = json_of(tally.counts);
  for (const auto& [name, n] : counts.items()) verdicts.push_back(fmt::format("{} {}", n.get<int>(), name));
  fmt::print("\n{}{}\n", fmt::join(verdicts, ", "),
             tally.without > 0 ? fmt::format(", {} not compared", tally.without) : "");
  for (const auto& [why, n] : tally.unseen)
    fmt::print("{}",
               paragraph(fmt::format("Timed without knowing whether the machine code is the same: {} ({})",
                                     why, counted(n, "row")),
                         "", "  "));
  if (const Canary& c = tally.canary; c.trials + c.without > 0)
    fmt::print("The baseline beside a copy of itself: {} in {}{}\n",
               counted(static_cast<std::uint64_t>(c.alarms), "alarm"),
               counted(static_cast<std::uint64_t>(c.trials), "trial"),
               c.without > 0 ? fmt::format(", {} could not be timed", c.without) : "");
  if (const std::string why = tally.unfit(); !why.empty())
    fmt::print("{}\n", style.doubtful(fmt::format("This machine is not fit to judge now: {}.", why)));
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

int bench_against(const BenchFlags& flags, KeptRun& kept) {
  const Placements placements = placements_of(flags.options);
  Gate gate = make_gate(flags);
  if (flags.study > 0) return bench_study(gate, flags);

  const bool text_out = flags.json != "-";
  const Style style(text_out && use_colour());
  Journal* const journal = kept.journal();
  const Stopwatch watch(journal == nullptr ? 0 : journal->before());
  if (text_out) print_placements(placements);
  GoogleFile file;
  Json context = bench_context(placements, commit_of(flags));
  context["seed"] = flags.options.seed;
  std::vector<BenchRow> rows;
  GateTally tally;
  const std::vector<GateSubject>& subjects = gate.subjects();
  const auto write = [&](const std::string& incomplete) {
    context["gate"] = {{"base", flags.against},
                       {"candidate", flags.plugins.empty() ? "cpu" : flags.plugins.front()},
                       {"verdict counts", json_of(tally.counts)},
                       {"canary",
                        {{"alarms", tally.canary.alarms},
                         {"trials", tally.canary.trials},
                         {"without", tally.canary.without}}},
                       {"fit", tally.unfit().empty()}};
    context["complete"] = incomplete.empty();
    context["incomplete"] = incomplete;
    context["seconds"] = watch.seconds();
    if (flags.json.empty()) return;
    const std::string document = file.json(context);
    write_file(flags.json, journal != nullptr && incomplete == kRunning ? with_journal(document, *journal, true)
                                                                        : kept.last(document, incomplete.empty()));
  };
  if (journal != nullptr) {
    context["gate"] = {{"base", flags.against},
                       {"candidate", flags.plugins.empty() ? "cpu" : flags.plugins.front()},
                       {"verdict counts", json_of(tally.counts)},
                       {"canary", {{"alarms", 0}, {"trials", 0}, {"without", 0}}},
                       {"fit", true}};
    context["complete"] = false;
    journal->begin(nlohmann::json::parse(file.json(context)));
  }
  {
    ProgressLine line;
    Stopwatch since_written;
    for (const GateSubject& s : subjects) {
      if (interrupted()) break;
      const std::size_t done = rows.size();
      line.show(fmt::format(
          "{} of {}  {}  about {} left", done + 1, subjects.size(), text(s.bench_case->c).substr(0, 60),
          done == 0 ? "?" : duration_text(watch.seconds() / double(done) * double(subjects.size() - done))));
      BenchRow row;
      bool stopped = false;
      const std::string key = key_of(s);
      const JournalEntry* const known = journal == nullptr ? nullptr : journal->find(key);
      if (known != nullptr) {
        row = rows_of(*known).at(0);
        tally.canary = canary_of(known->more);
      } else try {
        row = gate.compare(s);
        const std::size_t tried = static_cast<std::size_t>(tally.canary.trials);
        if (row.status == BenchStatus::measured && tally.timed >= tried * kCanaryEvery)
          gate.try_canary(s, tally.canary);
      } catch (const SessionStopped&) {
        // What was compared before its canary was stopped counts.
        if (row.status != BenchStatus::measured) break;
        stopped = true;
      }
      if (known == nullptr && !stopped) keep_rows(journal, key, watch.seconds(), {row}, json_of(tally.canary));
      tally.add(row);
      if (text_out) {
        line.clear();
        fmt::print("{}", line_of(row, style));
        std::fflush(stdout);
      }
      file.add({row});
      rows.push_back(std::move(row));
      if (flags.json != "-" && since_written.seconds() > kWriteEvery) {
        try {
          write(std::string(kRunning));
        } catch (const FileError& e) {  // the next time, or at the end, there may be room
          complain(e.what());
        }
        since_written = Stopwatch();
      }
    }
  }
  tally.interrupted = interrupted();
  const bool complete = rows.size() == subjects.size();
  const std::string compared = fmt::format("{} of {} were compared", rows.size(), subjects.size());
  write(complete ? "" : fmt::format("interrupted: {}", compared));
  kept.end(complete);
  if (text_out) {
    if (!complete) fmt::print("\nInterrupted: {}\n", compared);
    print(tally, style);
    for (const BenchRow& r : rows)
      if (r.has_failed() || (r.gate && r.gate->verdict == GateVerdict::regressed))
        fmt::print("{}", line_of(r, style));
  }
  switch (tally.end()) {
    case GateTally::End::fault:
      return kFaultFound;
    case GateTally::End::unfit:
      return kEnvironment;
    case GateTally::End::interrupted:
      return kInterrupted;
    default:
      return kAllWell;
  }
}

}  // namespace assay
