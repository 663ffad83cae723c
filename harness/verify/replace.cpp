#include "replace.h"

#include <algorithm>

#include "kept_cases.h"

namespace assay {
namespace {

constexpr std::uint64_t kBatch = 16;
constexpr std::uint64_t kTriesForOne = 20;     // cases tried for each that is missing
constexpr std::uint64_t kTriesForFirst = 160;  // without any that was taken

}  // namespace

void replace_refused(Examiner& examiner, Steering& steering, const Replacement& what,
                     const std::function<bool()>& over,
                     const std::function<void(const Finding&, const Case&, std::uint64_t index)>& judged) {
  const Kernel* const kernels[] = {what.kernel};
  std::uint64_t found = 0, lots = 0;
  for (std::uint64_t tried = 0; found < what.missing && tried < kTriesForOne * what.missing;) {
    if (over() || (tried >= kTriesForFirst && !steering.took_any())) return;
    std::vector<Case> cases;
    for (std::uint64_t i = 0; i < std::min(kBatch, what.missing - found); ++i)
      cases.push_back(steering.next());
    const std::vector<Examined> examined = examiner.examine(
        cases, kernels,
        {.ahead = false, .further = further_in(lots++), .row = row_of(what.dtype), .confirm = true});
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const Finding& finding = examined[c].findings[0];
      if (finding.stopped) return;
      const Verdict verdict = finding.judgement.verdict;
      if (verdict == Verdict::not_run) return;
      steering.saw(cases[c], verdict == Verdict::refused);
      if (verdict != Verdict::refused || finding.judgement.undeclared_refusal)
        judged(finding, cases[c], what.index + tried + c);
      found += verdict != Verdict::refused ? 1 : 0;
    }
    tried += cases.size();
  }
}

}  // namespace assay
