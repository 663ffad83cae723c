#include "junit_report.h"

#include <fmt/format.h>

#include <map>

#include "junit_suites.h"

namespace assay {
namespace {

using OpAndDtype = std::pair<std::string, std::string>;

void add_to(JunitSuites& suites, const SelftestFile& file) {
  struct Trials {
    MutationScore score;
    std::string wrong;
  };
  std::map<OpAndDtype, Trials> trials;
  for (const PlantedFault& p : file.planted) {
    Trials& t = trials[{p.op, p.dtype}];
    t.score.add(p);
    if (p.survived()) t.wrong += fmt::format("survived: {}: {}\n", p.variant, p.says);
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
  suites.seconds += file.seconds;
}

std::string speed_text(const Measurement& row) {
  std::string s;
  if (row.measured())
    s += fmt::format("time: {:.4g} ns ({:.4g} to {:.4g})\n", row.ns.value, row.ns.low, row.ns.high);
  if (row.limit) s += fmt::format("{:.1f}% of the limit: {}\n", 100 * row.limit->share, row.limit->binds);
  if (row.best_peer)
    s += fmt::format("time / that of {}: {:.3f} ({:.3f} to {:.3f})\n", row.best_peer->impl,
                     row.best_peer->ratio.value, row.best_peer->ratio.low, row.best_peer->ratio.high);
  if (row.gate)
    s += fmt::format("{}: time / time before {:.4f} ({:.4f} to {:.4f}), threshold {:.3g}\n",
                     kGateTokens[static_cast<std::size_t>(row.gate->verdict)], row.gate->ratio.value,
                     row.gate->ratio.low, row.gate->ratio.high, row.gate->threshold);
  return s;
}

void add_to(JunitSuites& suites, const BenchmarkFile& file, const std::string& prefix) {
  for (const Measurement& row : file.rows) {
    JunitCase test{prefix + "performance " + row.op,
                   "assay.performance." + row.op,
                   fmt::format("{} {} {} {} threads", row.case_text, row.impl, row.cache, row.threads),
                   JunitKind::passed,
                   "",
                   row.reason,
                   speed_text(row)};
    if (row.status == MeasuredStatus::failed) {
      test.kind = JunitKind::error;
      test.type = "failed";
    } else if (row.status != MeasuredStatus::measured) {
      test.kind = JunitKind::skipped;
    } else if (row.gate && row.gate->verdict == SpeedVerdict::regressed) {
      test.kind = JunitKind::failure;
      test.type = "REGRESSED";
      test.message = fmt::format("{:.4f} times the time of the base ({:.4f} to {:.4f})",
                                 row.gate->ratio.value, row.gate->ratio.low, row.gate->ratio.high);
    } else if (row.gate && row.gate->verdict == SpeedVerdict::ambiguous) {
      test.kind = JunitKind::skipped;
      test.message = "the gate could not decide";
    }
    suites.add(test);
  }
  suites.seconds += file.seconds;
}

}  // namespace

std::string junit(const Report& report) {
  JunitSuites suites;
  const auto prefix = [](std::size_t files, const std::string& name) { return files > 1 ? name + ": " : ""; };
  for (const ReportedRun& r : report.runs) add_to(suites, r.run, Rules{}, prefix(report.runs.size(), r.name));
  for (const SelftestFile& s : report.selftests) add_to(suites, s);
  for (const BenchmarkFile& b : report.benches) add_to(suites, b, prefix(report.benches.size(), b.name));
  return suites.xml();
}

}  // namespace assay
