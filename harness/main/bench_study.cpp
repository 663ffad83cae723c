// assay bench --against --study: how far the gate is to be trusted on this machine.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "../bench/gate.h"
#include "bench_flags.h"
#include "commands.h"
#include "interrupt.h"
#include "reports/text.h"
#include "terminal.h"

namespace assay {

using GateVerdict = GateOutcome::Verdict;

int bench_study(Gate& gate, const BenchFlags& flags) {
  // By the threshold of a row: no regression below it is to be found.
  std::map<double, std::map<double, std::map<GateVerdict, int>>> found;
  ProgressLine line;
  const Stopwatch watch;
  std::vector<Gate::Subject> subjects;
  for (const Gate::Subject& s : gate.subjects())
    if (s.base != nullptr) subjects.push_back(s);
  if (subjects.empty())
    throw UsageError(fmt::format("--against {}: it has none of these kernels", flags.against));
  std::map<std::string, int> failed;
  std::vector<std::string> odd;  // false alarms, and large regressions that were not seen
  int done = 0;
  const int all = flags.study * static_cast<int>(flags.slowed.size());
  for (int t = 0; t < flags.study && !interrupted(); ++t)
    for (const double percent : flags.slowed) {
      const double slowed = percent / 100;
      const Gate::Subject& s = subjects[static_cast<std::size_t>(t) % subjects.size()];
      line.show(fmt::format("trial {} of {}, {} left", t + 1, flags.study,
                            done == 0 ? "?" : duration_text(watch.seconds() / done * (all - done))));
      try {
        const GateOutcome o = gate.trial(s, slowed, flags.options.seed + static_cast<std::uint64_t>(t));
        ++found[o.threshold][slowed][o.verdict];
        const bool missed = slowed >= 0.045 && o.verdict != GateVerdict::regressed;
        const bool alarm =
            slowed == 0 && (o.verdict == GateVerdict::regressed || o.verdict == GateVerdict::improved);
        if (missed || alarm)
          odd.push_back(fmt::format("{} {:+.0f}%: {} {:+.1f}% ({:+.1f} to {:+.1f}%), {} rounds{}{}",
                                    text(s.bench_case->c), 100 * slowed, token(o.verdict),
                                    100 * (o.ratio.median - 1), 100 * (o.ratio.low - 1),
                                    100 * (o.ratio.high - 1), o.rounds, o.note.empty() ? "" : "; ", o.note));
      } catch (const SessionError& error) {
        ++failed[fmt::format("{} {}: {}", s.candidate->table_name, text(s.bench_case->c), error.what())];
      } catch (const SessionDied& error) {
        ++failed[fmt::format("{} {}: {}", s.candidate->table_name, text(s.bench_case->c), error.what())];
      }
      ++done;
    }
  line.clear();
  int alarms = 0, trials_as_it_is = 0;
  for (auto& [threshold, by_slowing] : found) {
    fmt::print("{:<36}{:>8}{:>11}{:>10}{:>7}{:>11}\n",
               fmt::format("A kernel beside itself, threshold {:.0f}%", 100 * threshold), "trials",
               "REGRESSED", "IMPROVED", "SAME", "AMBIGUOUS");
    for (auto& [slowed, counts] : by_slowing) {
      int trials = 0;
      for (const auto& [verdict, n] : counts) trials += n;
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
  for (const auto& [why, n] : failed)
    fmt::print("{}", paragraph(fmt::format("not measured: {} ({})", why, n), "", "  "));
  for (const std::string& one : odd) fmt::print("{}", paragraph(one, "  ", "    "));
  fmt::print("{} cases, {}\n", subjects.size(), duration(watch.seconds()));
  if (trials_as_it_is > 0) fmt::print("False alarms: {} of {}\n", alarms, trials_as_it_is);
  return interrupted() ? kInterrupted : kAllWell;
}

}  // namespace assay
