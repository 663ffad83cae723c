#include "record_row.h"

#include <algorithm>

#include "diagnosed.h"
#include "record.h"

namespace assay {

void record_row(Examiner& examiner, const Kernel& kernel, Row& row, const std::vector<Failure>& further,
                std::chrono::steady_clock::time_point until, const Recording& recording) {
  const auto& [options, stretch, interrupted, kernel_of] = recording;
  if (!interrupted) diagnose_failures(examiner, kernel, row.failures, further, interrupted, until);
  std::vector<Verdict> shrunk;
  for (Failure& f : row.failures) {
    f.contract = options.contract;
    if (stretch.ends_files()) {
      f.detail += " (there is no case file: the run was interrupted)";
      continue;
    }
    const bool first = std::ranges::find(shrunk, f.kind) == shrunk.end();
    shrunk.push_back(f.kind);
    // What did not come back once need not be waited for again when the time is over.
    const bool in_vain = f.kind == Verdict::timeout && stretch.over();
    const int budget = first && !interrupted && !in_vain ? options.shrink_budget : 0;
    record_failure(examiner, kernel, f, row.dtype, options.out,
                   {!in_vain, budget, until, &interrupted, options.contract, kernel_of});
  }
}

}  // namespace assay
