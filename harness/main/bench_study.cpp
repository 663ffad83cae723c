// assay bench --against --study: how far the gate is to be trusted on this machine.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../bench/context.h"
#include "../bench/gate.h"
#include "bench_flags.h"
#include "commands.h"
#include "interrupt.h"
#include "reports/file.h"
#include "reports/text.h"
#include "terminal.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;
using GateVerdict = SpeedVerdict;

constexpr GateVerdict kStudied[] = {GateVerdict::regressed, GateVerdict::improved, GateVerdict::same,
                                    GateVerdict::ambiguous};

struct Study {
  // By the threshold of a row: no regression below it is to be found. Then by the share that it was slowed by.
  std::map<double, std::map<double, std::map<GateVerdict, int>>> found;
  std::map<std::string, int> failed;  // why there is no verdict, and how often
  std::vector<std::string> odd;       // false alarms, and large regressions that were not seen
  std::size_t cases = 0;
  int done = 0, all = 0;  // trials
  double seconds = 0;

  bool complete() const { return done == all; }
  std::string incomplete() const {
    return complete() ? "" : fmt::format("interrupted: {} of {} trials were made", done, all);
  }
  void add(const GateSubject& s, double slowed, const GateOutcome& o) {
    ++found[o.threshold][slowed][o.verdict];
    const bool missed = slowed >= 0.045 && o.verdict != GateVerdict::regressed;
    const bool alarm =
        slowed == 0 && (o.verdict == GateVerdict::regressed || o.verdict == GateVerdict::improved);
    if (missed || alarm)
      odd.push_back(fmt::format("{} {:+.0f}%: {} {:+.1f}% ({:+.1f} to {:+.1f}%), {} rounds{}{}",
                                text(s.bench_case->c), 100 * slowed, token(o.verdict),
                                100 * (o.ratio.median - 1), 100 * (o.ratio.low - 1), 100 * (o.ratio.high - 1),
                                o.rounds, o.note.empty() ? "" : "; ", o.note));
  }
};

int trials_of(const std::map<GateVerdict, int>& counts) {
  int trials = 0;
  for (const auto& [verdict, n] : counts) trials += n;
  return trials;
}

void print(Study& study) {
  int alarms = 0, trials_as_it_is = 0;
  for (auto& [threshold, by_slowing] : study.found) {
    fmt::print("{:<36}{:>8}{:>11}{:>10}{:>7}{:>11}\n",
               fmt::format("A kernel beside itself, threshold {:.0f}%", 100 * threshold), "trials",
               "REGRESSED", "IMPROVED", "SAME", "AMBIGUOUS");
    for (auto& [slowed, counts] : by_slowing) {
      const int trials = trials_of(counts);
      if (slowed == 0) {
        alarms += counts[GateVerdict::regressed] + counts[GateVerdict::improved];
        trials_as_it_is += trials;
      }
      fmt::print("{:<36}{:>8}{:>11}{:>10}{:>7}{:>11}\n",
                 slowed == 0 ? std::string("as it is") : fmt::format("slowed by {:.3g}%", 100 * slowed),
                 trials, counts[GateVerdict::regressed], counts[GateVerdict::improved],
                 counts[GateVerdict::same], counts[GateVerdict::ambiguous]);
    }
  }
  for (const auto& [why, n] : study.failed)
    fmt::print("{}", paragraph(fmt::format("not measured: {} ({})", why, n), "", "  "));
  for (const std::string& one : study.odd) fmt::print("{}", paragraph(one, "  ", "    "));
  if (!study.complete()) fmt::print("Interrupted: {} of {} trials were made\n", study.done, study.all);
  fmt::print("{}, {}\n", counted(study.cases, "case"), duration(study.seconds));
  if (trials_as_it_is > 0) fmt::print("False alarms: {} of {}\n", alarms, trials_as_it_is);
}

// The context of a benchmark file, its "format" "assay.study/1", and {"base", "complete", "incomplete", "seconds", "cases",
// "rows": [{"threshold", "slowed", "trials", "REGRESSED", "IMPROVED", "SAME", "AMBIGUOUS"}], "not measured": [{"why", "trials"}],
// "odd": [text of a false alarm, or of a large slowing that was not found]}
std::string json_of(Study& study, const BenchFlags& flags) {
  Json context = bench_context(placements_of(flags.options), commit_of(flags));
  context["format"] = "assay.study/1";
  context["seed"] = flags.options.seed;
  context["base"] = flags.against;
  context["complete"] = study.complete();
  context["incomplete"] = study.incomplete();
  context["seconds"] = study.seconds;
  context["cases"] = study.cases;
  context["rows"] = Json::array();
  for (auto& [threshold, by_slowing] : study.found)
    for (auto& [slowed, counts] : by_slowing) {
      Json row{{"threshold", threshold}, {"slowed", slowed}, {"trials", trials_of(counts)}};
      for (const GateVerdict v : kStudied) row[std::string(token(v))] = counts[v];
      context["rows"].push_back(std::move(row));
    }
  context["not measured"] = Json::array();
  for (const auto& [why, n] : study.failed) context["not measured"].push_back({{"why", why}, {"trials", n}});
  context["odd"] = study.odd;
  return context.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int bench_study(Gate& gate, const BenchFlags& flags) {
  ProgressLine line;
  const Stopwatch watch;
  std::vector<GateSubject> subjects;
  for (const GateSubject& s : gate.subjects())
    if (s.base != nullptr) subjects.push_back(s);
  if (subjects.empty())
    throw UsageError(fmt::format("--against {}: it has none of these kernels", flags.against));
  Study study;
  study.cases = subjects.size();
  study.all = flags.study * static_cast<int>(flags.slowed.size());
  for (int t = 0; t < flags.study && !interrupted(); ++t)
    for (const double percent : flags.slowed) {
      const GateSubject& s = subjects[static_cast<std::size_t>(t) % subjects.size()];
      line.show(fmt::format(
          "trial {} of {}, {} left", t + 1, flags.study,
          study.done == 0 ? "?" : duration_text(watch.seconds() / study.done * (study.all - study.done))));
      try {
        study.add(s, percent / 100,
                  gate.trial(s, percent / 100, flags.options.seed + static_cast<std::uint64_t>(t)));
      } catch (const SessionStopped&) {
        break;
      } catch (const SessionError& error) {
        ++study
              .failed[fmt::format("{} {}: {}", s.candidate->table_name, text(s.bench_case->c), error.what())];
      } catch (const SessionDied& error) {
        ++study
              .failed[fmt::format("{} {}: {}", s.candidate->table_name, text(s.bench_case->c), error.what())];
      }
      ++study.done;
      if (interrupted()) break;
    }
  line.clear();
  study.seconds = watch.seconds();
  if (flags.json != "-") print(study);
  if (!flags.json.empty()) write_file(flags.json, json_of(study, flags));
  if (interrupted()) return kInterrupted;
  return study.found.empty() ? kEnvironment : kAllWell;
}

}  // namespace assay
