#include "junit_report.h"

#include <fmt/format.h>

#include <map>

#include "junit_suites.h"
#include "text.h"

namespace assay {
namespace {

using OpAndDtype = std::pair<std::string, std::string>;

void add_to(JunitSuites& suites, const SelftestFile& file, const std::string& prefix) {
  struct Trials {
    MutationScore score;
    std::string wrong;
  };
  std::map<OpAndDtype, Trials> trials;
  for (const PlantedFault& p : file.planted) {
    Trials& t = trials[{p.op, p.dtype}];
    t.score.add(p);
    if (p.survived()) t.wrong += fmt::format("survived: {}: {}\n", p.variant, p.says);
    if (p.wrongly_excused())
      t.wrong += fmt::format("said to be unobservable, but found: {}: {}\n", p.variant, p.says);
  }
  for (const RightKernel& c : file.controls)
    if (!c.alarm.empty())
      trials[{c.op, c.dtype}].wrong += fmt::format("false alarm: {}: {}\n", c.kernel, c.alarm);
  for (const auto& [key, t] : trials)
    suites.add(
        {"selftest " + key.first, "assay.selftest." + key.first, key.second,
         t.wrong.empty() ? JunitKind::passed : JunitKind::failure, "selftest",
         t.wrong.substr(0, t.wrong.find('\n')),
         fmt::format("{} of {} planted faults found\n{}", t.score.found, t.score.observable, t.wrong)});
  add_incomplete(suites, prefix + "selftest", "assay.selftest",
                 !file.complete         ? "the self-test was interrupted"
                 : file.planted.empty() ? "nothing was planted"
                                        : "");
  suites.seconds += file.seconds;
}

// "0.800 (0.790 to 0.820)"
std::string with_interval(const Estimate& s, int digits) {
  return fmt::format("{} ({})", figure(s.median, digits), interval_text(s.low, s.high, digits));
}

std::string speed_text(const BenchRow& row) {
  std::string s;
  if (row.measured())
    s += fmt::format("time: {} ns ({})\n", figure(row.ns.median, 1),
                     interval_text(row.ns.low, row.ns.high, 1));
  if (row.limit)
    s += fmt::format("{}% of the limit: {}\n", figure(100 * row.limit->share, 1), row.limit->binds);
  if (row.best_peer)
    s += fmt::format("time / that of {}: {}\n", row.best_peer->impl, with_interval(row.best_peer->ratio, 3));
  if (row.unchanged())
    s += "UNCHANGED: the same machine code, which was not timed\n";
  else if (row.gate)
    s += fmt::format("{}: time / time before {}, threshold {:.3g}\n",
                     kGateTokens[static_cast<std::size_t>(row.gate->verdict)],
                     with_interval(row.gate->ratio, 4), row.gate->threshold);
  return s;
}

void add_to(JunitSuites& suites, const BenchmarkFile& file, const std::string& prefix) {
  for (const BenchRow& row : file.rows) {
    JunitCase test{prefix + "performance " + row.op,
                   "assay.performance." + row.op,
                   fmt::format("{} {} {} {} threads", row.case_text, row.impl, row.cache, row.threads),
                   JunitKind::passed,
                   "",
                   row.reason,
                   speed_text(row)};
    if (row.fails()) {
      test.kind = JunitKind::error;
      test.type = row.status == BenchStatus::impossible ? "impossible" : "failed";
    } else if (row.unchanged()) {
      test.kind = JunitKind::passed;
    } else if (row.has_failed()) {
      test.kind = JunitKind::skipped;
      test.message = "a peer fails, which does not decide the run; " + row.reason;
    } else if (row.status != BenchStatus::measured) {
      test.kind = JunitKind::skipped;
    } else if (row.gate && row.gate->verdict == SpeedVerdict::regressed) {
      const bool fit = !file.gate || file.gate->fit;
      test.kind = fit ? JunitKind::failure : JunitKind::skipped;
      test.type = "REGRESSED";
      test.message =
          fmt::format("{}{} times the time of the base ({})",
                      fit ? "" : "the machine was not fit to judge: ", figure(row.gate->ratio.median, 4),
                      interval_text(row.gate->ratio.low, row.gate->ratio.high, 4));
    } else if (row.gate && row.gate->verdict == SpeedVerdict::ambiguous) {
      test.kind = JunitKind::skipped;
      test.message = "the gate could not decide";
    }
    suites.add(test);
  }
  const std::string stopped = file.incomplete.empty() ? "the benchmark was stopped" : file.incomplete;
  add_incomplete(suites, prefix + "performance", "assay.performance",
                 !file.complete      ? stopped
                 : file.rows.empty() ? "nothing was measured"
                                     : "");
  suites.seconds += file.seconds;
}

}  // namespace

std::string junit(const Report& report) {
  JunitSuites suites;
  const auto prefix = [](std::size_t files, const std::string& name) { return files > 1 ? name + ": " : ""; };
  for (const ReportedRun& r : report.runs) add_to(suites, r.run, Rules{}, prefix(report.runs.size(), r.name));
  for (const SelftestFile& s : report.selftests) add_to(suites, s, prefix(report.selftests.size(), s.name));
  for (const BenchmarkFile& b : report.benches) add_to(suites, b, prefix(report.benches.size(), b.name));
  return suites.xml();
}

}  // namespace assay
