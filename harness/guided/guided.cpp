#include "guided.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::uint64_t kBatch = 8;  // what one brings to light, the next may use
constexpr int kEnoughFaults = 3;

}  // namespace

bool was_judged(const Finding& finding) {
  switch (finding.judgement.verdict) {
    case Verdict::refused:
    case Verdict::not_run:
    case Verdict::crashed:
    case Verdict::timeout:
      return false;
    default:
      return finding.applicable && !finding.stopped;
  }
}

void run_guided(Examiner& examiner, Guide& guide, const GuidedCases& what, const std::function<bool()>& over,
                const std::function<void(const Finding&, const Case&, std::uint64_t)>& ran) {
  const Kernel* const kernels[] = {what.kernel};
  std::uint64_t drawn = 0, lots = 0;
  for (int faults = 0; drawn < what.most && faults < kEnoughFaults && !over();) {
    std::vector<Case> cases;
    while (cases.size() < std::min(kBatch, what.most - drawn)) {
      std::optional<Case> c = guide.next();
      if (!c) break;
      cases.push_back(std::move(*c));
    }
    if (cases.empty()) return;
    // Most of them only show that they do not lead there.
    const std::vector<Examined> examined = examiner.examine(
        cases, kernels, {.properties = false, .ahead = false, .row = what.row, .confirm = true});
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Finding* finding = &examined[i].findings[0];
      const auto ended = [&] { return finding->stopped || finding->judgement.verdict == Verdict::not_run; };
      if (ended()) return;
      const bool reached = finding->ran && guide.saw(cases[i], *finding->ran, was_judged(*finding));
      std::vector<Examined> thoroughly;
      if (reached && !is_fault(finding->judgement.verdict)) {
        thoroughly = examiner.examine(
            {&cases[i], 1}, kernels,
            {.ahead = false, .further = further_in(++lots), .row = what.row, .confirm = true});
        finding = &thoroughly[0].findings[0];
        if (ended()) return;
      }
      ran(*finding, cases[i], what.index + drawn + i);
      faults += is_fault(finding->judgement.verdict) ? 1 : 0;
    }
    drawn += cases.size();
  }
}

}  // namespace assay
