#include "replace.h"

#include <algorithm>
#include <utility>

#include "../generate/check_case.h"
#include "kept_cases.h"

namespace assay {
namespace {

constexpr std::uint64_t kBatch = 16;
constexpr std::uint64_t kTriesForOne = 20;     // cases tried for each that is missing
constexpr std::uint64_t kTriesForFirst = 160;  // without any that was taken

bool has_results_of(const Case& c, Dtype dtype) {
  const Checked checked = check_case(c);
  return checked.ok() && !checked.outputs.empty() && checked.outputs[0].dtype == dtype;
}

}  // namespace

void replace_refused(Examiner& examiner, Steering& steering, const Replacement& what,
                     const std::function<bool()>& over,
                     const std::function<void(const Finding&, const Case&, std::uint64_t index)>& judged) {
  const Kernel* const kernels[] = {what.kernel};
  std::uint64_t found = 0, lots = 0;
  for (std::uint64_t tried = 0; found < what.missing && tried < kTriesForOne * what.missing;) {
    if (over() || (tried >= kTriesForFirst && !steering.took_any())) return;
    std::vector<Case> cases;
    std::uint64_t drawn = 0;
    for (; drawn < std::min(kBatch, what.missing - found); ++drawn)
      // Without an argument that says the dtype of results, a case may be one of another row.
      if (Case c = steering.next(); has_results_of(c, what.dtype)) cases.push_back(std::move(c));
    if (cases.empty()) {
      tried += drawn;
      continue;
    }
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
    tried += drawn;
  }
}

}  // namespace assay
