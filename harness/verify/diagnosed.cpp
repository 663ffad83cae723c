#include "diagnosed.h"

#include <deque>

#include "../diagnose/diagnosis.h"

namespace assay {
namespace {

// A gate has other things to do: `assay diagnose` takes all the time it needs.
const diagnose::Options kQuickly{
    .patience = {std::chrono::milliseconds(3000), std::chrono::milliseconds(500), nullptr}, .separate = false};

}  // namespace

void diagnose_failures(Examiner& examiner, const Kernel& kernel, std::vector<Failure>& failures,
                       const std::atomic<bool>& interrupted) {
  std::vector<Case> cases;
  for (const Failure& f : failures)
    if (f.kind == Verdict::diverged) cases.push_back(parse_case(f.case_text));
  if (cases.empty()) return;
  const Kernel* const kernels[] = {&kernel};
  const std::vector<Examined> shown =
      examiner.examine(cases, kernels, {.properties = false, .keep_outputs = true});
  std::deque<diagnose::Evidence> evidence;
  std::vector<diagnose::Evidence*> calls;
  for (const Examined& e : shown) {
    if (e.findings[0].stopped || e.findings[0].outputs.empty() || !e.call.error.empty()) continue;
    ExpectedOutputs outputs(e.findings[0].outputs.begin(), e.findings[0].outputs.end());
    evidence.emplace_back(e.call, contract_for(kernel, e.call), std::move(outputs));
    if (evidence.back().diverging() > 0) calls.push_back(&evidence.back());
  }
  if (calls.empty()) return;
  diagnose::Options options = kQuickly;
  options.patience.interrupted = &interrupted;
  const std::string said = summary(diagnose::diagnose(calls, options));
  for (Failure& f : failures)
    if (f.kind == Verdict::diverged) f.diagnosis = said;
}

}  // namespace assay
