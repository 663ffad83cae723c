#include "diagnosed.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>

#include "../diagnose/diagnosis.h"
#include "allowance.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// A gate has other things to do: `assay diagnose` takes the time it needs.
constexpr std::chrono::milliseconds kSingles{3000}, kPairs{500};

// The search for causes takes half of the time at most, so that something is said of where elements diverge, and what was used.
diagnose::Options quickly(Clock::duration left, const std::atomic<bool>& interrupted) {
  const auto half = std::chrono::duration_cast<std::chrono::milliseconds>(left / 2);
  return {.patience = {std::min(kSingles, half), std::min(kPairs, half / 4), &interrupted},
          .separate = false};
}

// What is known of the cause; nothing where no case diverges again.
std::string cause_of(Examiner& examiner, const Kernel& kernel, const std::vector<Case>& cases,
                     const std::atomic<bool>& interrupted, Clock::time_point end) {
  const Kernel* const kernels[] = {&kernel};
  const std::vector<Examined> shown =
      examiner.examine(cases, kernels, {.properties = false, .keep_outputs = true});
  std::deque<diagnose::Evidence> evidence;
  std::vector<diagnose::Evidence*> calls;
  for (const Examined& e : shown) {
    if (e.findings[0].stopped) stop_now();
    if (e.findings[0].stopped || e.findings[0].outputs.empty() || !e.call.error.empty()) continue;
    ExpectedOutputs outputs(e.findings[0].outputs.begin(), e.findings[0].outputs.end());
    evidence.emplace_back(e.call, contract_for(kernel, e.call), std::move(outputs));
    if (evidence.back().diverging() > 0) calls.push_back(&evidence.back());
  }
  if (calls.empty()) return {};
  return summary(diagnose::diagnose(calls, quickly(end - Clock::now(), interrupted)));
}

}  // namespace

void diagnose_failures(Examiner& examiner, const Kernel& kernel, std::vector<Failure>& failures,
                       const std::atomic<bool>& interrupted, Clock::time_point until) {
  std::vector<Case> cases;
  for (const Failure& f : failures)
    if (f.kind == Verdict::diverged) cases.push_back(parse_case(f.case_text));
  if (cases.empty()) return;
  const Clock::time_point begin = Clock::now(), end = std::min(until, begin + kDiagnosisTime);
  const StopScope scope([&] { return interrupted || Clock::now() > end; });
  std::string said;
  try {
    said = cause_of(examiner, kernel, cases, interrupted, end);
  } catch (const Stopped&) {
    said = fmt::format("unknown; the search for a cause ended after {:.1f} s, before any was tried",
                       std::chrono::duration<double>(Clock::now() - begin).count());
  }
  for (Failure& f : failures)
    if (f.kind == Verdict::diverged) f.diagnosis = said;
}

}  // namespace assay
