#include "coverage.h"

#include <map>
#include <tuple>

namespace assay {
namespace {

using Kind = CoverageLoss::Kind;
using RowKey = std::tuple<std::string, std::string, std::string>;

RowKey key_of(const Row& row) { return {row.op, row.impl, row.dtype}; }

bool looked_at(const Row& row) { return row.verdict != Verdict::not_run && row.verdict != Verdict::refused; }

}  // namespace

std::string words(CoverageLoss::Kind kind) {
  switch (kind) {
    case Kind::not_run:
      return "not run now";
    case Kind::refused:
      return "refused now";
    case Kind::fewer_cases:
      return "with fewer cases";
    default:
      return "gone";
  }
}

std::vector<CoverageLoss> coverage_lost(const RunResult& base, const RunResult& run) {
  std::map<RowKey, const Row*> now;
  for (const Row& row : run.rows) now[key_of(row)] = &row;
  std::vector<CoverageLoss> lost;
  for (const Row& before : base.rows) {
    if (!looked_at(before)) continue;
    CoverageLoss loss{Kind::gone, before.op, before.impl, before.dtype, before.cases, 0, ""};
    const auto found = now.find(key_of(before));
    if (found != now.end()) {
      const Row& row = *found->second;
      loss.now = row.cases;
      loss.reason = reason_of(row);
      if (row.verdict == Verdict::not_run)
        loss.kind = Kind::not_run;
      else if (row.verdict == Verdict::refused)
        loss.kind = Kind::refused;
      else if (row.cases < before.cases)
        loss.kind = Kind::fewer_cases;
      else
        continue;
    }
    lost.push_back(loss);
  }
  return lost;
}

std::string reason_of(const Row& row) {
  if (!row.reason.empty() || row.refused.empty()) return row.reason;
  const auto* most = &*row.refused.begin();
  for (const auto& refusal : row.refused)
    if (refusal.second > most->second) most = &refusal;
  return most->first;
}

}  // namespace assay
