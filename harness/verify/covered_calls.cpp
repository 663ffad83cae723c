#include "covered_calls.h"

#include <algorithm>

#include "kept_cases.h"

namespace assay {

void CoveredCalls::note(const Finding& finding, const RowKey& row, const Case& c, std::uint64_t index,
                        bool model) {
  if (!finding.ran || finding.stopped) return;
  run_.saw(row, finding.ran, was_judged(finding));
  if (model) calls_[row].push_back({c, index, finding.ran, was_judged(finding)});
}

std::vector<CoveredCalls::Row> CoveredCalls::take_rows() {
  std::vector<Row> rows;
  for (auto& [key, calls] : calls_) rows.push_back({key, std::move(calls)});
  calls_.clear();
  return rows;
}

void CoveredCalls::draw(Examiner& examiner, Row row, std::uint64_t seed, std::uint64_t most,
                        const std::function<bool()>& over,
                        const std::function<void(const Finding&, const Case&, std::uint64_t index)>& ran) {
  std::ranges::sort(row.calls, {}, &Call::index);
  Guide guide(*row.key.first->op, row.key.second, seed);
  for (const Call& call : row.calls) guide.saw(call.c, *call.ran, call.judged);
  // After all others, those in the place of refused ones, too.
  run_guided(examiner, guide, {row.key.first, most, 1'000 * most, row_of(row.key.second)}, over, ran);
}

}  // namespace assay
